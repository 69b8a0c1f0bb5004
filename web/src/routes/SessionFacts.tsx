import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { gateway } from "../api/gateway";
import type { AgentState, Session } from "../api/generated";
import { AGENT, BOX, boxMeans, count, headline, isProgram, ruleWords, tone } from "../interactions/words";
import type { Ask } from "../session/ask";
import { fileIn } from "../session/call";
import { factsOf } from "../session/facts";
import { useNow } from "../session/now";
import type { Transcript } from "../session/transcript";
import { Shown } from "../text/Shown";
import { age, clock, span } from "../text/time";
import { visible } from "../text/visible";
import { Icon, type IconName } from "../ui/Icon";
import { RULES } from "./rulesKey";

const MARK: Record<ReturnType<typeof tone>, { icon: IconName; look: string }> = {
  pending: { icon: "clock", look: "text-pending" },
  parked: { icon: "clock", look: "text-parked" },
  approved: { icon: "tick", look: "text-approved" },
  denied: { icon: "x", look: "text-denied" },
  expired: { icon: "clock", look: "text-ink-3" },
};
const MOST = 12;

/** What the session comes to: its state, its asks, the files it changed, what it may do unasked. */
export function SessionFacts({
  session,
  agent,
  transcript,
}: {
  session: Session;
  agent: AgentState;
  transcript: Transcript;
}) {
  const now = useNow();
  const { asks, files, waitedMs } = useMemo(() => factsOf(transcript), [transcript]);
  const ended = agent === "ended";
  // The clock here ticks slowly: what has happened since the last tick has taken its time all the same.
  const until = ended ? Date.parse(session.changedAt) : Math.max(now, Date.parse(session.changedAt));
  const ran = until - Date.parse(session.openedAt);
  return (
    <div className="grid gap-5">
      <Part title="Now">
        <dl className="grid grid-cols-[84px_minmax(0,1fr)] gap-x-2 gap-y-1 [&_dt]:text-xs [&_dt]:leading-5 [&_dt]:text-ink-3">
          {!isProgram(session.agent) && (
            <>
              <dt>State</dt>
              <dd className={session.openAsks > 0 ? "font-medium text-pending" : ""}>
                {session.openAsks > 0 ? `waits for you, ${count(session.openAsks, "ask")}` : AGENT[agent]}
              </dd>
            </>
          )}
          <dt>{ended ? "Ran" : "Open for"}</dt>
          <dd>
            {span(ran)}
            {waitedMs >= 1_000 && `, ${span(waitedMs)} of it waiting`}
          </dd>
          {session.openedBy && (
            <>
              <dt>Started by</dt>
              <dd className="wrap-anywhere">
                <Shown text={session.openedBy.name} />
              </dd>
            </>
          )}
          {session.cwd && (
            <>
              <dt>Folder</dt>
              <dd className="font-mono text-xs leading-5 wrap-anywhere">{visible(session.cwd)}</dd>
            </>
          )}
          {session.box && (
            <>
              <dt>Box</dt>
              <dd>
                {BOX[session.box.kind]}
                <span className="block text-xs text-ink-3 wrap-anywhere">{boxMeans(session.box)}</span>
              </dd>
            </>
          )}
        </dl>
      </Part>
      {asks.length > 0 && (
        <Part title={`Asks, ${asks.length}`}>
          <ul>
            {asks.slice(0, MOST).map((ask) => (
              <AskRow key={ask.request.interactionId} ask={ask} now={now} />
            ))}
          </ul>
          {asks.length > MOST && <p className="pt-1 text-xs text-ink-3">and {asks.length - MOST} before these</p>}
        </Part>
      )}
      {files.length > 0 && (
        <Part title={`Files, ${files.length} changed`}>
          <ul>
            {files.slice(-MOST).map(({ path, added, removed }) => (
              <li key={path} className="grid grid-cols-[14px_minmax(0,1fr)_auto] items-center gap-x-2 py-0.5">
                <Icon name="edit" className="size-3.5 text-ink-3" />
                <code className="truncate font-mono text-xs" title={visible(path)}>
                  {fileIn(path, session.cwd ?? null)}
                </code>
                <span className="text-xs text-ink-3 tabular-nums">
                  +{added} −{removed}
                </span>
              </li>
            ))}
          </ul>
        </Part>
      )}
      <Allowed sessionId={session.sessionId} />
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="pb-1.5 text-xs font-semibold text-ink-2">{title}</h2>
      {children}
    </section>
  );
}

function AskRow({ ask, now }: { ask: Ask; now: number }) {
  const { icon, look } = MARK[tone(ask)];
  return (
    <li>
      <Link
        to="."
        search={(before: Record<string, unknown>) => ({ ...before, ask: ask.request.interactionId })}
        className="grid grid-cols-[14px_minmax(0,1fr)_auto] items-center gap-x-2 py-0.5 hover:underline"
      >
        <Icon name={icon} className={`size-3.5 ${look}`} />
        <code className="truncate font-mono text-xs">{headline(ask.request, "row")}</code>
        <span className="text-xs text-ink-3 tabular-nums">
          {ask.respondedAt ? clock(ask.respondedAt) : age(ask.openedAt, now)}
        </span>
      </Link>
    </li>
  );
}

/** Rules that hold in this session only. */
function Allowed({ sessionId }: { sessionId: string }) {
  const { data } = useQuery({ queryKey: RULES, queryFn: gateway.rules, staleTime: 10_000 });
  const rules = (data?.rules ?? []).filter((rule) => rule.sessionId === sessionId);
  if (rules.length === 0) return null;
  return (
    <Part title="Allowed in this session">
      <ul className="grid gap-1 text-xs text-ink-2">
        {rules.map((rule) => (
          <li key={rule.grantId} className="wrap-anywhere">
            <code className="font-mono">{ruleWords(rule)}</code>,{" "}
            {rule.uses === 0 ? "not used yet" : count(rule.uses, "use")}
          </li>
        ))}
      </ul>
      <Link to="/rules" className="text-xs underline">
        Revoke
      </Link>
    </Part>
  );
}
