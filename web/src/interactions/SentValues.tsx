import type { ReactNode } from "react";
import type { Ask } from "../session/ask";
import { Shown } from "../text/Shown";
import { plain } from "../text/visible";

/** What was sent with a form, unless it wants to be remembered otherwise. */
export function SentValues({ ask }: { ask: Ask }): ReactNode {
  const { request, response } = ask;
  if (request.kind !== "form" || response?.action !== "submit" || !response.input) return null;
  if (request.completedView && !request.completedView.showInputs) return null;
  const { input } = response;
  return (
    <dl className="mt-1 grid grid-cols-[max-content_minmax(0,1fr)] gap-x-3 gap-y-1 text-xs">
      {request.form.fields
        .filter((field) => input[field.id] != null)
        .map((field) => (
          <div key={field.id} className="contents">
            <dt className="text-ink-2">
              <Shown text={field.label} />
            </dt>
            <dd>
              <Shown text={field.type === "secret" ? "••••" : plain(input[field.id])} />
            </dd>
          </div>
        ))}
    </dl>
  );
}
