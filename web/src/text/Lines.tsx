import { Fragment, type ReactNode, useSyncExternalStore } from "react";
import { Icon } from "../ui/Icon";
import { Key } from "../ui/Kbd";
import { fold, foldLine, headLines, type Range, rangesOf } from "./fold";
import { Whole } from "./Payload";
import { Shown } from "./Shown";

interface Props {
  text: string;
  /** What is risky in it, as it stands there. */
  marked?: string[];
  /** Nothing is folded. */
  whole: boolean;
  onWhole: () => void;
}

/** So many unfolded lines at once are laid out piece by piece. */
const MANY = 600;

const onResize = (tell: () => void) => {
  addEventListener("resize", tell);
  return () => removeEventListener("resize", tell);
};

/** Machine text, raw and numbered: beginning, end and marked lines always, the rest one press away. */
export function Lines({ text, marked = [], whole, onWhole }: Props) {
  const head = useSyncExternalStore(onResize, () => headLines(innerHeight, innerWidth < 900));
  const lines = text.split("\n");
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  const ranges = rangesOf(text, marked);
  /** The marked parts of a line, counted from its beginning. */
  const inLine = (line: number): Range[] => {
    const from = starts[line] ?? 0;
    const length = lines[line]?.length ?? 0;
    return ranges
      .filter((range) => range.from < from + length && range.to > from)
      .map((range) => ({ from: Math.max(0, range.from - from), to: Math.min(length, range.to - from) }));
  };
  const hot = new Set(lines.flatMap((_, line) => (inLine(line).length > 0 ? [line] : [])));
  const stretches = fold(lines.length, hot, head);
  const row = (line: number) => (
    <Line key={line} number={line + 1} text={lines[line] ?? ""} marked={inLine(line)} whole={whole} onWhole={onWhole} />
  );
  return (
    <div className="isolate border-l border-line bg-block py-2 font-mono text-mono [direction:ltr] [unicode-bidi:isolate]">
      {stretches.map(({ from, to, folded }) => {
        if (!folded)
          return <Fragment key={from}>{lines.slice(from, to).map((_, index) => row(from + index))}</Fragment>;
        if (!whole) return <Fold key={from} words={`Lines ${from + 1} to ${to}`} onOpen={onWhole} />;
        if (to - from > MANY)
          return (
            <div key={from} className="pr-3 pl-11">
              <Whole text={lines.slice(from, to).join("\n")} />
            </div>
          );
        return <Fragment key={from}>{lines.slice(from, to).map((_, index) => row(from + index))}</Fragment>;
      })}
    </div>
  );
}

/** What is folded, and the press that opens it. Nobody approves while there is one. */
export function Fold({ words, onOpen }: { words: string; onOpen: () => void }) {
  return (
    <button
      type="button"
      data-fold=""
      onClick={onOpen}
      className="my-1 flex min-h-7 w-full items-center gap-2 border-y border-dashed border-line-2 bg-canvas pr-3 pl-11 text-left font-sans text-xs text-ink-2 hover:text-ink max-wide:min-h-11"
    >
      <Icon name="down" /> {words}
      <span className="ml-auto">
        <Key>Space</Key>
      </span>
    </button>
  );
}

interface LineProps {
  number: number;
  text: string;
  marked: Range[];
  whole: boolean;
  onWhole: () => void;
}

function Line({ number, text, marked, whole, onWhole }: LineProps) {
  const isHot = marked.length > 0;
  const stretches = foldLine(text.length, marked);
  return (
    <div className={`grid grid-cols-[44px_minmax(0,1fr)] ${isHot ? "bg-denied-bg" : ""}`}>
      <span
        aria-hidden="true"
        className={`pr-3 text-right text-xs leading-5 select-none ${isHot ? "font-semibold text-denied" : "text-ink-3"}`}
      >
        {number}
      </span>
      <code className="min-w-0 pr-3 wrap-anywhere whitespace-pre-wrap [tab-size:4]">
        {stretches.map(({ from, to, folded }) =>
          !folded ? (
            <Fragment key={from}>{withMarks(text, from, to, marked)}</Fragment>
          ) : whole ? (
            <Whole key={from} text={text.slice(from, to)} />
          ) : (
            <Fold key={from} words={`${(to - from).toLocaleString("en")} more characters`} onOpen={onWhole} />
          ),
        )}
      </code>
    </div>
  );
}

/** A stretch of a line, with what is risky in it bold, underlined and red. */
export function withMarks(text: string, from: number, to: number, marked: Range[]): ReactNode[] {
  const out: ReactNode[] = [];
  let at = from;
  for (const range of marked) {
    const [begin, end] = [Math.max(range.from, at), Math.min(range.to, to)];
    if (begin >= end) continue;
    if (begin > at) out.push(<Shown key={at} text={text.slice(at, begin)} where="payload" />);
    out.push(
      <Danger key={`${begin} risky`}>
        <Shown text={text.slice(begin, end)} where="payload" />
      </Danger>,
    );
    at = end;
  }
  if (at < to) out.push(<Shown key={at} text={text.slice(at, to)} where="payload" />);
  return out;
}

export function Danger({ children }: { children: ReactNode }) {
  return (
    <strong className="font-semibold text-denied underline decoration-denied-rail decoration-2 underline-offset-4">
      {children}
    </strong>
  );
}
