import { useMutation } from "@tanstack/react-query";
import { gateway } from "../api/gateway";
import type { CallVerdict } from "../api/generated";
import { useSession } from "../session/live";
import { Shown } from "../text/Shown";
import { Button } from "../ui/Button";
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

/** It runs what the repository says: rules may allow that only where a person trusts the folder. */
function FolderTrust({ sessionId }: { sessionId: string }) {
  const folder = useSession(sessionId)?.cwd;
  const trust = useMutation({
    mutationFn: async (folder: string) => {
      const found = await gateway.folderFiles("rules", folder);
      if (!found.digest) throw new Error("This folder's rules cannot be trusted: the file is too large, or a link.");
      return gateway.trustFolder({ agent: "rules", folder: found.folder, digest: found.digest });
    },
  });
  return (
    <p className="flex flex-wrap items-center gap-2 text-xs">
      <span className="min-w-0 flex-[1_1_280px] text-ink-2">
        {trust.isSuccess
          ? "This folder is trusted. From the next call on, rules can allow commands that run what it says."
          : "This runs what the repository says. Rules can allow it only in a folder that you trust."}
      </span>
      {folder && !trust.isSuccess && (
        <Button size="small" disabled={trust.isPending} onClick={() => trust.mutate(folder)}>
          Trust this folder
        </Button>
      )}
      <span role="alert" className="text-denied empty:hidden">
        {trust.error?.message}
      </span>
    </p>
  );
}
