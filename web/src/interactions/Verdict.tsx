import { useState } from "react";
import type { CallVerdict } from "../api/generated";
import { Shown } from "../text/Shown";
import { Button } from "../ui/Button";
import { useDesk } from "./transport";
import { EFFECT } from "./words";

/** What rules say about a call, part by part. One part that no rule speaks of says nothing new. */
export function Verdict({ verdict, sessionId }: { verdict: CallVerdict; sessionId: string }) {
  const speaks = verdict.parts.length > 1 || verdict.parts.some((part) => part.rule);
  const needsTrust = verdict.requirements?.includes("folder_trust") === true;
  return (
    <>
      {speaks && (
        <section aria-label="What rules say" className="grid gap-1 text-xs">
          <h3 className="text-ink-2">What rules say</h3>
          <ul className="grid gap-1">
            {verdict.parts.map((part, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of one ask never change
              <li key={at} className="flex flex-wrap items-baseline gap-x-2 wrap-anywhere">
                <span className={`w-12 shrink-0 font-medium ${part.effect === "allow" ? "text-ink-2" : ""}`}>
                  {EFFECT[part.effect]}
                </span>
                {part.text && (
                  <code className="font-mono">
                    <Shown text={part.text} where="payload" />
                  </code>
                )}
                <span className="text-ink-2">
                  {part.rule ? (
                    <>
                      <code className="font-mono">
                        <Shown text={part.rule.text} />
                      </code>{" "}
                      ({part.rule.layer.replace("_", " ")})
                    </>
                  ) : (
                    <Shown text={part.why} />
                  )}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {needsTrust && <FolderTrust sessionId={sessionId} />}
    </>
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
