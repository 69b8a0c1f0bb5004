import { Link } from "@tanstack/react-router";
import { type Ask, isOpen, isOver } from "../session/ask";
import { SentValues } from "./SentValues";
import { headline, MARK, receipt, TONE_CLASS, tone } from "./words";

/** An ask at its place in the transcript: waiting, or how it ended. Pressing it shows the ask again. */
export function ReceiptLine({ ask, headed = false }: { ask: Ask; headed?: boolean }) {
  const { interactionId } = ask.request;
  const kind = tone(ask);
  const line = isOver(ask) ? receipt(ask) : isOpen(ask) ? "Waiting here ↓" : "Sent, the tool is looking at it";
  return (
    <div className={`railed ${TONE_CLASS[kind]} ${headed ? "bg-surface" : ""} px-3 py-2 wrap-anywhere`}>
      {headed && <p className="font-medium">{headline(ask.request, "row")}</p>}
      <Link
        to="."
        search={(before: Record<string, unknown>) => ({ ...before, ask: interactionId })}
        className="font-medium text-tone hover:underline"
      >
        {MARK[kind]} {line}
      </Link>
      {isOver(ask) && <SentValues ask={ask} />}
    </div>
  );
}
