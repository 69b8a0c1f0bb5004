import type { CallMark } from "../api/generated";
import { Shown } from "../text/Shown";
import { Warning } from "./CardBody";
import { RISK } from "./words";

/** What is risky in a call, never folded away: why, and the very words. */
export function Marks({ marks }: { marks: CallMark[] }) {
  if (marks.length === 0) return null;
  return (
    <Warning>
      <strong className="font-semibold">Look twice. </strong>
      {marks.map((mark, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: marks of one ask never change
        <span key={at}>
          {at > 0 && "; "}
          {RISK[mark.risk]}{" "}
          <code className="font-mono text-mono font-semibold wrap-anywhere">
            <Shown text={mark.text} where="payload" />
          </code>
        </span>
      ))}
    </Warning>
  );
}
