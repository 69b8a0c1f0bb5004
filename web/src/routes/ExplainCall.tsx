import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { gateway } from "../api/gateway";
import type { Effect, ExplainedCall } from "../api/generated";
import { count, does, hosted, isProgram, LAYER, namesApart } from "../interactions/words";
import { useSessions } from "../session/live";
import { Shown } from "../text/Shown";
import { Ticked } from "../ui/Calm";
import { INPUT } from "../ui/inputs";
import { useSettled } from "../ui/useSettled";
import { EffectMark } from "./EffectMark";
import { RULES } from "./rulesKey";
import { typedCall } from "./typedCall";

/** What would happen with a call that nobody makes: each part, its verdict, and why. Nothing is run. */
export function ExplainCall() {
  const field = useId();
  const sessions = useSessions().filter((session) => !isProgram(session.agent));
  const names = namesApart(sessions);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const sessionId = chosen ?? sessions[0]?.sessionId ?? null;
  const asked = useSettled(text.trim());
  const explained = useQuery({
    queryKey: [...RULES, "explain", sessionId, asked],
    queryFn: () => gateway.explain({ sessionId: sessionId ?? "", ...typedCall(asked) }),
    enabled: sessionId !== null && asked !== "",
    // The last verdict stays while the next one is looked up.
    placeholderData: (before) => before,
  });
  return (
    <section
      aria-label="Explain a call"
      className="railed border-y border-r border-y-line border-r-line p-4 [--rail:var(--ink)]"
    >
      <label htmlFor={field} className="mb-1 block font-medium">
        What would happen with…
      </label>
      {sessionId === null ? (
        <p className="text-ink-2">Rules are tried as if a session's agent made the call. Start a session first.</p>
      ) : (
        <>
          <input
            id={field}
            value={text}
            onChange={(event) => setText(event.target.value)}
            placeholder="npm run lint && git push origin topic"
            autoComplete="off"
            spellCheck={false}
            className={`${INPUT} font-mono text-mono`}
          />
          <p className="flex flex-wrap items-center gap-x-2 pt-1.5 text-xs text-ink-2">
            <label htmlFor={`${field}-session`}>As if asked in</label>
            <select
              id={`${field}-session`}
              value={sessionId}
              onChange={(event) => setChosen(event.target.value)}
              className="max-w-60 border-b border-line-2 bg-surface py-0.5 max-wide:min-h-11"
            >
              {sessions.map((session) => (
                <option key={session.sessionId} value={session.sessionId}>
                  {names.get(session.sessionId)} ({hosted(session.agent)})
                </option>
              ))}
            </select>
            Nothing is run.
          </p>
          <p role="alert" className="pt-2 text-xs text-denied empty:hidden">
            {explained.error?.message}
          </p>
          <div aria-live="polite">{asked !== "" && explained.data && <Verdict call={explained.data} />}</div>
        </>
      )}
    </section>
  );
}

const OUTCOME: Record<Effect, { lead: string; tone: string }> = {
  allow: { lead: "It would run without asking you", tone: "text-approved" },
  ask: { lead: "It would ask you", tone: "text-pending" },
  deny: { lead: "It would be denied", tone: "text-denied" },
};

function Verdict({ call: { verdict, marks, decidedBy } }: { call: ExplainedCall }) {
  const { lead, tone } = OUTCOME[verdict.effect];
  const why = verdict.parts.filter((part) => part.effect === verdict.effect).length;
  const byMode = decidedBy?.by === "mode" ? ` The session's permissions (${decidedBy.mode}) decide.` : "";
  return (
    <>
      <ul className="mt-3 border-t border-line">
        {verdict.parts.map((part, at) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of one call have no other name
            key={at}
            className="grid grid-cols-[minmax(0,300px)_minmax(0,1fr)] items-baseline gap-x-4 border-b border-line py-1 max-wide:grid-cols-[minmax(0,1fr)]"
          >
            <code className="font-mono text-mono wrap-anywhere">
              {part.text ? <Shown text={part.text} where="payload" /> : "the call"}
            </code>
            <span className="text-xs leading-5 wrap-anywhere">
              <EffectMark effect={part.effect} />{" "}
              <span className="text-ink-3">
                {part.rule ? (
                  <>
                    rule ({LAYER[part.rule.layer]}):{" "}
                    <code className="font-mono">
                      <Shown text={part.rule.text} />
                    </code>
                  </>
                ) : (
                  <Ticked text={part.why} />
                )}
              </span>
            </span>
          </li>
        ))}
      </ul>
      {marks.length > 0 && (
        <p className="pt-2 text-xs text-denied">
          Marked:{" "}
          {marks.map((mark, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: marks of one call have no other name
            <span key={at}>
              {at > 0 && ", "}
              it {does(mark.risk)}:{" "}
              <code className="font-mono font-medium">
                <Shown text={mark.text} where="payload" />
              </code>
            </span>
          ))}
        </p>
      )}
      <p className="pt-2.5">
        <span className={`font-medium ${tone}`}>{lead}</span>
        {verdict.parts.length > 1 && verdict.effect !== "allow" && `, because of ${count(why, "part")}`}.{byMode}
        {verdict.effect === "ask" &&
          verdict.parts.length > 1 &&
          " The whole line waits; no part runs before you answer."}
      </p>
    </>
  );
}
