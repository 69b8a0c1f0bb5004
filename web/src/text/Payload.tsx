import { Scrollable } from "../ui/Scrollable";
import { Shown } from "./Shown";
import { thirds } from "./visible";

/** Past this a middle is cut into pieces that are drawn only when they are scrolled to. */
const PIECE = 20_000;

/** Machine text, raw and whole: wrapped so that nothing lies out of sight, of a long one the middle scrolls. */
export function Payload({ text, lead = "", className = "" }: { text: string; lead?: string; className?: string }) {
  const { head, middle, tail, between } = thirds(text);
  return (
    <div
      className={`isolate bg-block px-3 py-2 font-mono text-mono [direction:ltr] [unicode-bidi:isolate] ${className}`}
    >
      <Pre text={head} lead={lead} />
      {middle !== null && (
        <>
          <p className="text-xs leading-5 text-ink-2">{between} more lines</p>
          <Scrollable label={`${between} more lines`} className="max-h-40 overflow-y-auto border-y border-line py-1">
            <Pre text={middle} />
          </Scrollable>
          <p className="text-xs leading-5 text-ink-2">The last lines</p>
          <Pre text={tail} />
        </>
      )}
    </div>
  );
}

function Pre({ text, lead = "" }: { text: string; lead?: string }) {
  if (text.length > PIECE) return <LongPre text={text} lead={lead} />;
  return (
    <pre className="font-mono whitespace-pre-wrap wrap-anywhere [tab-size:4]">
      {lead && (
        <span aria-hidden="true" className="text-ink-2 select-none">
          {lead}
        </span>
      )}
      <Shown text={text} where="payload" />
    </pre>
  );
}

/** A megabyte on one line. */
function LongPre({ text, lead }: { text: string; lead: string }) {
  return (
    <Scrollable label={`${text.length} characters`} className="max-h-80 overflow-y-auto">
      <Whole text={text} lead={lead} />
    </Scrollable>
  );
}

/** Machine text of any length in no box of its own: the browser lays out only what is in sight. */
export function Whole({ text, lead = "" }: { text: string; lead?: string }) {
  const ends: number[] = [];
  while ((ends.at(-1) ?? 0) < text.length) ends.push(endOfPiece(text, ends.at(-1) ?? 0));
  return ends.map((end, at) => {
    const from = ends[at - 1] ?? 0;
    return (
      <pre
        key={from}
        className="font-mono whitespace-pre-wrap wrap-anywhere [tab-size:4] [content-visibility:auto] [contain-intrinsic-size:auto_4000px]"
      >
        {from === 0 && lead}
        <Shown text={text.slice(from, end)} where="payload" />
      </pre>
    );
  });
}

/** Behind a line's end where there is one, and never inside a character. */
function endOfPiece(text: string, from: number): number {
  const end = from + PIECE;
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf("\n", end - 1);
  if (line >= from) return line + 1;
  return /[\uDC00-\uDFFF]/.test(text.charAt(end)) ? end - 1 : end;
}
