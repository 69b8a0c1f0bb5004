// Which entries a few typed letters mean. Pure.

/** Every word is in it. Higher is nearer: words that begin one of its words count more. Zero: not meant. */
export function nearness(text: string, typed: string): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const hay = text.toLowerCase();
  let total = 1;
  for (const word of words) {
    const at = hay.indexOf(word);
    if (at < 0) return 0;
    const begins = at === 0 || new RegExp(`[^\\p{L}\\p{N}]${escaped(word)}`, "u").test(hay);
    total += at === 0 ? 3 : begins ? 2 : 1;
  }
  return total;
}

const escaped = (word: string): string => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Those that are meant, the nearest first; equals stay in their order. */
export function meant<T>(entries: readonly T[], typed: string, textOf: (entry: T) => string, most: number): T[] {
  return entries
    .map((entry) => ({ entry, near: nearness(textOf(entry), typed) }))
    .filter(({ near }) => near > 0)
    .sort((a, b) => b.near - a.near)
    .slice(0, most)
    .map(({ entry }) => entry);
}
