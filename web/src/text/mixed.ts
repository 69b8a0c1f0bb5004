// Words with letters of two alphabets, which may look alike: `pаypal` with a Cyrillic `а`.

import { codePoint } from "./visible";

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LATIN = /\p{Script=Latin}/u;
const LOOKS_LATIN = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;

/** The words of a text that have both Latin letters and Cyrillic or Greek ones, each once. */
export const mixedWords = (text: string): string[] => [
  ...new Set((text.match(WORD) ?? []).filter((word) => LATIN.test(word) && LOOKS_LATIN.test(word))),
];

/** The word, with its Cyrillic and Greek letters as code points. */
export const spelledOut = (word: string): string =>
  [...word].map((letter) => (LOOKS_LATIN.test(letter) ? codePoint(letter) : letter)).join("");
