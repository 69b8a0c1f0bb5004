// Text as it really is: what cannot be seen is shown, and marked.

// Blank, and no white space: Braille's empty cell, object replacement, and the blanks of four rare scripts.
const BLANK = String.raw`\u2800\uFFFC\u{13441}\u{13442}\u{16FE4}\u{1D159}`;
// Controls (but tab and newline), formats such as bidi and zero-width, separators, lone surrogates, private use.
const INVISIBLE = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}${BLANK}]`;
// From the third on, combining marks on one letter cover what stands around it.
const STACKED = String.raw`(?<=[\p{Mn}\p{Me}]{2})[\p{Mn}\p{Me}]`;
const UNSEEN = `(?:${INVISIBLE}|${STACKED})`;
const KEPT = String.raw`(?![\t\n]|(?<=\p{Extended_Pictographic})\uFE0F)`;
const IN_PROSE = new RegExp(`${KEPT}${UNSEEN}`, "gu");
// In a payload a no-break space is another word to a shell, though it looks like a space.
const IN_PAYLOAD = new RegExp(String.raw`${KEPT}(?:${UNSEEN}|(?! )\p{Zs})`, "gu");

export type Where = "prose" | "payload";

export interface Piece {
  text: string;
  /** It stands for a character that cannot be seen. */
  marked: boolean;
}

export const codePoint = (char: string) =>
  `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

export function pieces(text: string, where: Where = "payload"): Piece[] {
  const out: Piece[] = [];
  let from = 0;
  for (const hit of text.matchAll(where === "prose" ? IN_PROSE : IN_PAYLOAD)) {
    if (hit.index > from) out.push({ text: text.slice(from, hit.index), marked: false });
    const last = out.at(-1);
    if (last?.marked) last.text += codePoint(hit[0]);
    else out.push({ text: codePoint(hit[0]), marked: true });
    from = hit.index + hit[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), marked: false });
  return out;
}

/** The text on one line, with nothing hidden in it. */
export const visible = (text: string): string =>
  pieces(text)
    .map((piece) => piece.text)
    .join("")
    .replace(/\s*\n\s*/g, " ⏎ ");

/** Longer than this is not a line that anybody reads. */
export const LONGEST_LINE = 400;

/** The same for headings and rows. What is cut says so, and stands whole elsewhere. */
export const brief = (text: string): string =>
  text.length > LONGEST_LINE ? `${visible(text.slice(0, LONGEST_LINE))}…` : visible(text);

/** A JSON value as text: strings as they are, the rest indented. */
export const plain = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");

export const LONG = 20;
const HEAD = 12;
const TAIL = 6;

export interface Thirds {
  head: string;
  /** The lines between, which scroll. */
  middle: string | null;
  tail: string;
  between: number;
}

/** A long text in three: beginning and end stay in sight while the middle scrolls. */
export function thirds(text: string): Thirds {
  const lines = text.split("\n");
  if (lines.length <= LONG) return { head: text, middle: null, tail: "", between: 0 };
  return {
    head: lines.slice(0, HEAD).join("\n"),
    middle: lines.slice(HEAD, -TAIL).join("\n"),
    tail: lines.slice(-TAIL).join("\n"),
    between: lines.length - HEAD - TAIL,
  };
}
