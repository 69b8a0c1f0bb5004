// What of a long text stays in sight: its beginning, its end, and whatever is marked.

export interface Stretch {
  /** Counted from 0, and up to but not with `to`. */
  from: number;
  to: number;
  folded: boolean;
}

export const HEAD = 12;
export const TAIL = 6;
/** Folding fewer saves nothing. */
const FEWEST = 3;

/** How many lines of the beginning there is room for. The end always has its lines: in a low window the beginning gives way. */
export const headLines = (height: number, isNarrow: boolean): number =>
  isNarrow || height < 560 ? 3 : height < 760 ? 6 : HEAD;

/**
 * The lines of a text as stretches that are shown or folded.
 * @param kept lines that are never folded
 */
export function fold(count: number, kept: ReadonlySet<number>, head = HEAD, tail = TAIL): Stretch[] {
  const isKept = (line: number) => line < head || line >= count - tail || kept.has(line);
  const out: Stretch[] = [];
  for (let line = 0; line < count; line++) {
    const folded = !isKept(line);
    const last = out.at(-1);
    if (last && last.folded === folded) last.to = line + 1;
    else out.push({ from: line, to: line + 1, folded });
  }
  // Short folds are shown, and join what stands around them.
  const joined: Stretch[] = [];
  for (const one of out) {
    const folded = one.folded && one.to - one.from >= FEWEST;
    const last = joined.at(-1);
    if (last && last.folded === folded) last.to = one.to;
    else joined.push({ ...one, folded });
  }
  return joined;
}

export interface Range {
  from: number;
  to: number;
}

/** Where these words stand in a text, in order and without overlap. */
export function rangesOf(text: string, words: string[]): Range[] {
  const found = words
    .flatMap((word) => {
      const from = word === "" ? -1 : text.indexOf(word);
      return from < 0 ? [] : [{ from, to: from + word.length }];
    })
    .sort((a, b) => a.from - b.from);
  return found.filter((one, at) => at === 0 || one.from >= (found[at - 1]?.to ?? 0));
}

/** A line of which nobody reads every character. */
const LONG_LINE = 1_200;
const LINE_HEAD = 600;
const LINE_TAIL = 300;
const AROUND = 60;

/** A long line as stretches: beginning, end and marked parts are shown. */
export function foldLine(length: number, marked: Range[]): Stretch[] {
  if (length <= LONG_LINE) return [{ from: 0, to: length, folded: false }];
  const shown = [
    { from: 0, to: LINE_HEAD },
    ...marked.map(({ from, to }) => ({ from: Math.max(0, from - AROUND), to: Math.min(length, to + AROUND) })),
    { from: length - LINE_TAIL, to: length },
  ].sort((a, b) => a.from - b.from);
  const out: Stretch[] = [];
  let at = 0;
  for (const { from, to } of shown) {
    if (from > at) out.push({ from: at, to: from, folded: true });
    if (to > at) out.push({ from: Math.max(at, from), to, folded: false });
    at = Math.max(at, to);
  }
  return out;
}
