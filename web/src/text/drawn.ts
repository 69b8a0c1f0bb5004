// Whether what was written can be read in what was drawn of it.

import { pieces } from "./visible";

/** How far ahead a line's words are looked for: what is drawn keeps the order of what was written. */
const AHEAD = 4_000;

// What a browser draws beside a list's text, not in it: `> 2. [x] `.
const MARKER = /^(?:[\s>]|\d+[.)](?=\s|$)|[-*+](?=\s|$))+(?:\[[ xX]\]\s)?/;

const words = (line: string): string[] => {
  const shown = pieces(line.replace(MARKER, ""), "prose").map((piece) => piece.text);
  return shown.join("").match(/[\p{L}\p{N}]+/gu) ?? [];
};

/** How many lines of `text` have a word that is not to be read in `drawn`, in its order. */
export function undrawn(text: string, drawn: string): number {
  let from = 0;
  let reach = AHEAD;
  let missing = 0;
  for (const line of text.split("\n")) {
    const end = findAll(words(line), drawn, from, from + reach + line.length);
    if (end === null) {
      missing += 1;
      // Parts of it may stand between here and the next line.
      reach += line.length;
    } else {
      from = end;
      reach = AHEAD;
    }
  }
  return missing;
}

/** Where the last of these words ends, if all are there. */
function findAll(wanted: string[], drawn: string, from: number, until: number): number | null {
  const near = drawn.slice(from, until);
  let at = 0;
  for (const word of wanted) {
    const found = near.indexOf(word, at);
    if (found < 0) return null;
    at = found + word.length;
  }
  return from + at;
}
