import { Fragment, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { type DiffLine, type DiffPair, pairs } from "./diff";
import { fold } from "./fold";
import { Fold } from "./Lines";
import { Shown } from "./Shown";

const LOOK = { add: "bg-approved-bg", remove: "bg-denied-bg", same: "", hunk: "" } as const;
const SIGN = { add: "+", remove: "−", same: " ", hunk: "" } as const;
/** From here on, before and after stand side by side. */
const SPLIT_FROM = 900;

interface Props {
  lines: DiffLine[];
  /** Nothing is folded. */
  whole?: boolean;
  onWhole?: () => void;
}

/** A diff: numbers, signs, colours; the signs stay for those who see no colours. */
export function Diff({ lines, whole = true, onWhole = () => {} }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [isSplit, setSplit] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => setSplit(element.clientWidth >= SPLIT_FROM);
    const sized = new ResizeObserver(look);
    sized.observe(element);
    look();
    return () => sized.disconnect();
  }, []);
  const rows: ReactNode[] = isSplit
    ? // biome-ignore lint/suspicious/noArrayIndexKey: rows of a diff have no other name, and never move
      pairs(lines).map((row, at) => <Pair key={at} row={row} />)
    : // biome-ignore lint/suspicious/noArrayIndexKey: as above
      lines.map((line, at) => <Side key={at} line={line} number={line.after ?? line.before} />);
  return (
    <div ref={box} className="isolate border-y border-line bg-block font-mono text-mono [direction:ltr]">
      {isSplit && (
        <p aria-hidden="true" className="grid grid-cols-2 border-b border-line bg-surface font-sans text-xs text-ink-3">
          <span className="py-1.5 pl-12">Now</span>
          <span className="py-1.5 pl-12">After</span>
        </p>
      )}
      {fold(rows.length, NONE).map(({ from, to, folded }) =>
        folded && !whole ? (
          <Fold key={from} words={`${to - from} more lines of the change`} onOpen={onWhole} />
        ) : (
          <Fragment key={from}>{rows.slice(from, to)}</Fragment>
        ),
      )}
    </div>
  );
}
const NONE: ReadonlySet<number> = new Set();

function Pair({ row: { before, after } }: { row: DiffPair }) {
  if (before?.kind === "hunk") return <Side line={before} number={null} />;
  return (
    <div className="grid grid-cols-2">
      {before ? <Side line={before} number={before.before} /> : <div className="bg-canvas" />}
      <div className="border-l border-line">
        {after ? <Side line={after} number={after.after} /> : <div className="h-full bg-canvas" />}
      </div>
    </div>
  );
}

function Side({ line, number }: { line: DiffLine; number: number | null }) {
  if (line.kind === "hunk") {
    return (
      <pre className="bg-canvas py-0.5 pr-3 pl-12 font-mono text-xs wrap-anywhere whitespace-pre-wrap text-ink-3">
        <Shown text={line.text} where="payload" />
      </pre>
    );
  }
  return (
    <div className={`grid h-full min-w-0 grid-cols-[36px_12px_minmax(0,1fr)] ${LOOK[line.kind]}`}>
      <span aria-hidden="true" className="pr-2 text-right text-xs leading-5 text-ink-3 select-none">
        {number}
      </span>
      <span className="text-ink-2 select-none">{SIGN[line.kind]}</span>
      <pre className="min-w-0 pr-2 font-mono wrap-anywhere whitespace-pre-wrap [tab-size:4]">
        <Shown text={line.text} where="payload" />
      </pre>
    </div>
  );
}
