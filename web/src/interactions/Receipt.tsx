import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Ask, isOpen, isOver } from "../session/ask";
import { Shown } from "../text/Shown";
import { plain } from "../text/visible";
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
      {isOver(ask) && <CompletedInputs ask={ask} />}
    </div>
  );
}

/** What was sent, where the form wants it to be seen. */
function CompletedInputs({ ask }: { ask: Ask }): ReactNode {
  const { request, response } = ask;
  if (request.kind !== "form" || !request.completedView?.showInputs || response?.action !== "submit") return null;
  return (
    <dl className="mt-1 grid grid-cols-[max-content_minmax(0,1fr)] gap-x-3 gap-y-1 text-xs">
      {request.form.fields
        .filter((field) => response.input[field.id] != null)
        .map((field) => (
          <div key={field.id} className="contents">
            <dt className="text-ink-2">
              <Shown text={field.label} />
            </dt>
            <dd>
              <Shown text={field.type === "secret" ? "••••" : plain(response.input[field.id])} />
            </dd>
          </div>
        ))}
    </dl>
  );
}
