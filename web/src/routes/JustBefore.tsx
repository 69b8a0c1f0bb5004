import { useQuery } from "@tanstack/react-query";
import { gateway } from "../api/gateway";
import type { Interaction } from "../api/generated";
import { callLine, iconOf, outcome } from "../session/call";
import { emptyTranscript, fold, type Item } from "../session/transcript";
import { Shown } from "../text/Shown";
import { clock } from "../text/time";
import { Icon } from "../ui/Icon";

/** So many events before an ask hold what was said and done last. */
const LOOK_BACK = 60;
const CALLS = 3;

type Tool = Extract<Item, { kind: "tool" }>;

/** What the agent said and did before it asked: why it wants this. */
export function JustBefore({ ask }: { ask: Interaction }) {
  const { toolCallId, origin } = ask.request;
  const { data } = useQuery({
    queryKey: ["before", ask.request.interactionId],
    queryFn: () => gateway.eventsBefore(ask.sessionId, ask.seq, LOOK_BACK),
    enabled: origin === "agent",
    staleTime: Number.POSITIVE_INFINITY,
  });
  const items = fold(emptyTranscript(), data?.events ?? []).items;
  const end = items.findLastIndex(
    (item) => item.kind === "tool" && item.ask?.request.interactionId === ask.request.interactionId,
  );
  const past = end < 0 ? items : items.slice(0, end);
  const said = past.findLast((item) => item.kind === "text");
  const calls = past.filter((item): item is Tool => item.kind === "tool" && item.result !== undefined).slice(-CALLS);
  if (!toolCallId || (!said && calls.length === 0)) return null;
  return (
    <section aria-label="Just before" className="border-t border-line pt-3">
      <h3 className="pb-1 text-xs text-ink-3">
        <b className="font-semibold text-ink-2">Just before</b> {clock(ask.openedAt)}
      </h3>
      {said?.kind === "text" && (
        <p className="line-clamp-4 max-w-[76ch] wrap-anywhere text-ink-2">
          “<Shown text={said.text.slice(-600)} />”
        </p>
      )}
      <ul>
        {calls.map((call) => (
          <li key={call.key} className="flex items-center gap-2.5 pt-1 text-xs text-ink-2">
            <Icon name={iconOf(call)} />
            <span className="min-w-0 flex-1 truncate font-mono">{callLine(call, ask.request.cwd ?? null)}</span>
            <span>
              {outcome(call)
                .map(({ text }) => text)
                .join(", ")}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
