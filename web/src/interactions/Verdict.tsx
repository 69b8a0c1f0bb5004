import { useState } from "react";
import type { CallPart, CallVerdict, Effect } from "../api/generated";
import { Shown } from "../text/Shown";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { useDesk } from "./transport";
import { count, EFFECT } from "./words";

const LOOK: Record<Effect, string> = {
  allow: "text-approved before:bg-current",
  ask: "text-pending",
  deny: "text-denied before:rotate-45",
};

/** What rules say about a call, part by part. One part that no rule speaks of says nothing new. */
export function Verdict({ verdict, sessionId, isOpen }: { verdict: CallVerdict; sessionId: string; isOpen: boolean }) {
  const { parts } = verdict;
  const speaks = parts.length > 1 || parts.some((part) => part.rule);
  const needsTrust = isOpen && verdict.requirements?.includes("folder_trust") === true;
  const asking = parts.filter((part) => part.effect === "ask").length;
  return (
    <>
      {speaks && (
        <section aria-label="What rules say">
          <h3 className="flex items-baseline gap-2 pb-1 text-xs text-ink-3">
            <b className="font-semibold text-ink-2">
              {parts.length > 1 ? count(parts.length, "command") : "What rules say"}
            </b>
            {parts.length > 1 && `${asking} ${asking === 1 ? "asks" : "ask"}`}
          </h3>
          <ul className="border-t border-line">
            {parts.map((part, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of one ask never change
              <Part key={at} part={part} />
            ))}
          </ul>
        </section>
      )}
      {needsTrust && <FolderTrust sessionId={sessionId} />}
    </>
  );
}

function Part({ part }: { part: CallPart }) {
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_minmax(0,292px)] items-baseline gap-x-4 border-b border-line py-1 max-wide:grid-cols-[minmax(0,1fr)]">
      <code className="line-clamp-3 font-mono text-mono wrap-anywhere">
        {part.text && <Shown text={part.text} where="payload" />}
      </code>
      <span className="text-xs leading-5 wrap-anywhere text-ink-3">
        <span
          className={`inline-flex items-center gap-1.5 font-semibold before:size-2 before:border-[1.5px] before:border-current ${LOOK[part.effect]}`}
        >
          {EFFECT[part.effect]}
        </span>{" "}
        {part.rule ? (
          <>
            <code className="font-mono">
              <Shown text={part.rule.text} />
            </code>{" "}
            ({part.rule.layer.replace("_", " ")})
          </>
        ) : (
          <Ticked text={part.why} />
        )}
      </span>
    </li>
  );
}

type Trusting = { at: "asked" } | { at: "sending" } | { at: "done" } | { at: "failed"; why: string };

/** It runs what the repository says: rules may allow that only where a person trusts the folder. */
function FolderTrust({ sessionId }: { sessionId: string }) {
  const { session, transport, mayAnswer } = useDesk();
  const [trusting, setTrusting] = useState<Trusting>({ at: "asked" });
  const folder = session(sessionId)?.cwd;
  const trust = (folder: string) => {
    setTrusting({ at: "sending" });
    transport.trustFolder(folder).then(
      () => setTrusting({ at: "done" }),
      (error: unknown) => setTrusting({ at: "failed", why: error instanceof Error ? error.message : String(error) }),
    );
  };
  return (
    <p className="flex flex-wrap items-center gap-2 text-xs">
      <span className="min-w-0 flex-[1_1_280px] text-ink-2">
        {trusting.at === "done"
          ? "This folder is trusted. From the next call on, rules can allow commands that run what it says."
          : "This runs what the repository says. Rules can allow it only in a folder that you trust."}
      </span>
      {folder && mayAnswer && trusting.at !== "done" && (
        <Button size="small" disabled={trusting.at === "sending"} onClick={() => trust(folder)}>
          Trust this folder
        </Button>
      )}
      <span role="alert" className="text-denied empty:hidden">
        {trusting.at === "failed" && trusting.why}
      </span>
    </p>
  );
}
