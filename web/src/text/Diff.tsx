import type { DiffLine } from "./diff";
import { Shown } from "./Shown";

const LOOK = {
  add: "bg-approved-bg text-approved",
  remove: "bg-denied-bg text-denied",
  same: "",
  hunk: "text-ink-2",
} as const;
const SIGN = { add: "+", remove: "−", same: " ", hunk: "" } as const;

/** A diff: numbers, signs, colours; the signs stay for those who see no colours. */
export function Diff({ lines }: { lines: DiffLine[] }) {
  const numbered = lines.some((line) => line.before !== null || line.after !== null);
  const width = String(Math.max(0, ...lines.map((line) => Math.max(line.before ?? 0, line.after ?? 0)))).length;
  return (
    <div className="isolate bg-sunken py-2 font-mono text-mono [direction:ltr]">
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of a diff have no other name, and never move
        <div key={at} className={`flex px-3 ${LOOK[line.kind]}`}>
          {numbered && line.kind !== "hunk" && (
            <span aria-hidden="true" className="shrink-0 pr-2 text-ink-2 select-none">
              {String(line.after ?? line.before ?? "").padStart(width)}
            </span>
          )}
          <pre className="min-w-0 flex-1 font-mono whitespace-pre-wrap wrap-anywhere [tab-size:4]">
            {line.kind !== "hunk" && `${SIGN[line.kind]} `}
            <Shown text={line.text} where="payload" />
          </pre>
        </div>
      ))}
    </div>
  );
}
