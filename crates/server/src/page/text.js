// Text as it really is: what cannot be seen is shown, and marked. No DOM here.

// Controls (but tab and newline), formats such as bidi and zero-width, separators, lone surrogates, private use.
const UNSEEN = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]`;
const KEPT = String.raw`(?![\t\n]|(?<=\p{Extended_Pictographic})\uFE0F)`;
const IN_PROSE = new RegExp(`${KEPT}${UNSEEN}`, "gu");
// In a payload a no-break space is another word to a shell, though it looks like a space.
const IN_PAYLOAD = new RegExp(String.raw`${KEPT}(?:${UNSEEN}|(?! )\p{Zs})`, "gu");

/** @param {string} char */
export const codePoint = (char) =>
  `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/**
 * The text in pieces; marked ones stand for a character that cannot be seen.
 * @param {string} text
 * @param {{prose?: boolean}} [how] prose keeps no-break spaces
 * @returns {{text: string, marked: boolean}[]}
 */
export function pieces(text, { prose = false } = {}) {
  const out = [];
  let from = 0;
  for (const hit of text.matchAll(prose ? IN_PROSE : IN_PAYLOAD)) {
    if (hit.index > from) out.push({ text: text.slice(from, hit.index), marked: false });
    out.push({ text: codePoint(hit[0]), marked: true });
    from = hit.index + hit[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), marked: false });
  return out;
}

/** The text on one line, with nothing hidden in it. */
export const visible = (text) =>
  pieces(String(text)).map((piece) => piece.text).join("").replace(/\s*\n\s*/g, " ⏎ ");

/** A JSON value as text: strings as they are, the rest indented. */
export const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

/** A whole number this large has been rounded by the browser: what is shown is not what would run. */
export function isRounded(value) {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return value !== null && typeof value === "object" && Object.values(value).some(isRounded);
}

const LONG = 20;
const HEAD = 12;
const TAIL = 6;

/** A long text in three: beginning and end stay in sight while the middle scrolls. */
export function thirds(text) {
  const lines = text.split("\n");
  if (lines.length <= LONG) return { head: text, middle: null, tail: null, between: 0 };
  return {
    head: lines.slice(0, HEAD).join("\n"),
    middle: lines.slice(HEAD, -TAIL).join("\n"),
    tail: lines.slice(-TAIL).join("\n"),
    between: lines.length - HEAD - TAIL,
  };
}

/** How old, short: `now`, `4m`, `2h`, `3d`. */
export function age(since, now) {
  const minutes = Math.floor((now - Date.parse(since)) / 60_000);
  if (!(minutes >= 1)) return "now";
  if (minutes < 60) return `${minutes}m`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1440)}d`;
}

/** How long, in words: `40 s`, `6 min`, `2 h`, `3 days`. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

/** The time of day: `14:02`. */
export const clock = (at) =>
  new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** A folder as people write it. */
export const folder = (path) => path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, "~");
