import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { gateway } from "../api/gateway";
import { mayAnswer, SESSIONS, useLive } from "../session/live";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { Icon } from "../ui/Icon";
import { PairPhone } from "./PairPhone";
import { show } from "./sheet";

const COMMANDS = [
  { line: "holdstead run claude", does: "starts Claude Code in this folder" },
  { line: "holdstead mcp", does: "for Cursor or any other MCP client to start" },
];

/** The agent that plays a script: no keys, no account. */
const DEMO_AGENT = "scripted";

/** Nothing was ever asked here: what to do so that something is. */
export function FirstRun() {
  const { me } = useLive();
  const agents = useQuery({ queryKey: ["agents"], queryFn: gateway.agents }).data?.agents ?? [];
  const hasDemo = agents.some((agent) => agent.name === DEMO_AGENT && agent.installed);
  const hasOther = agents.some((agent) => agent.name !== DEMO_AGENT && agent.installed);
  return (
    <section aria-labelledby="first-run" className="max-w-[760px] px-10 pt-8 pb-10 max-wide:px-0 max-wide:pt-4">
      <h2 id="first-run" className="text-[28px] leading-9 font-semibold tracking-tight">
        Agents stop here and wait for you.
      </h2>
      <p className="pt-2 text-base text-ink-2">
        Nothing waits for you yet. Start an agent in a project, and its first question appears on this page.
      </p>
      <ul className="grid gap-1 pt-6">
        {COMMANDS.map((command) => (
          <Terminal key={command.line} {...command} />
        ))}
      </ul>
      {mayAnswer(me) && (
        <div className="flex flex-wrap items-center gap-2 pt-3">
          {hasOther && (
            <Button look="solid" onClick={() => show("new session")}>
              New session…
            </Button>
          )}
          {hasDemo && <Demo look={hasOther ? "outlined" : "solid"} />}
        </div>
      )}
      <div className="grid grid-cols-2 gap-6 pt-6 max-wide:grid-cols-1">
        <div className="border-t border-line pt-3">
          <h3 className="text-base font-semibold">What is here</h3>
          <ul className="pt-2">
            <Tick is name="Gateway" more={location.host} />
            {agents.map(({ name, installed, missing }) => (
              <Tick key={name} is={installed} name={name} more={installed ? "ready" : (missing ?? "not installed")} />
            ))}
          </ul>
          <p className="pt-2.5 text-xs text-ink-2">
            You can answer in a terminal, too: <code className="font-mono">holdstead inbox</code>. The first answer
            wins, and everybody sees whose it was.
          </p>
        </div>
        <div className="border-t border-line pt-3">
          <h3 className="text-base font-semibold">Answer from your phone</h3>
          <PairPhone />
        </div>
      </div>
    </section>
  );
}

function Terminal({ line, does }: { line: string; does: string }) {
  const [copied, setCopied] = useState(false);
  // Over plain http from another machine a page may not.
  const canCopy = typeof navigator.clipboard?.writeText === "function";
  const copy = () => void navigator.clipboard.writeText(line).then(() => setCopied(true));
  return (
    <li className="railed flex min-h-12 flex-wrap items-center gap-x-3 bg-block py-1.5 pr-1.5 pl-4 [--rail:var(--ink)]">
      <code className="min-w-0 flex-1 font-mono text-base wrap-anywhere max-wide:basis-full max-wide:pt-1.5">
        <span aria-hidden="true" className="text-ink-3 select-none">
          ${" "}
        </span>
        {line}
      </code>
      <span className="text-xs text-ink-2 max-wide:flex-1">{does}</span>
      {canCopy && (
        <Button look="quiet" size="small" aria-label={`Copy ${line}`} onClick={copy}>
          {copied ? "Copied" : "Copy"}
        </Button>
      )}
    </li>
  );
}

function Demo({ look }: { look: "solid" | "outlined" }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const start = useMutation({
    mutationFn: async () => {
      const { sessionId } = await gateway.openSession({ agent: DEMO_AGENT, title: "Demo" });
      await gateway.say(sessionId, "/demo");
      return sessionId;
    },
    onSuccess: async (sessionId) => {
      await queries.invalidateQueries({ queryKey: SESSIONS });
      await navigate({ to: "/sessions/$sessionId", params: { sessionId } });
    },
  });
  return (
    <>
      <Button look={look} disabled={start.isPending} onClick={() => start.mutate()}>
        Try the demo
      </Button>
      <span className="text-xs text-ink-2">
        No keys, no account, one minute: a scripted agent that asks you things.
      </span>
      <span role="alert" className="text-xs text-denied empty:hidden">
        {start.error?.message}
      </span>
    </>
  );
}

function Tick({ is, name, more }: { is: boolean; name: string; more: string }) {
  return (
    <li className="grid grid-cols-[20px_minmax(0,auto)_minmax(0,1fr)] items-baseline gap-x-2 border-b border-line py-1.5">
      <Icon
        name={is ? "tick" : "plus"}
        className={`size-4 translate-y-0.5 self-start ${is ? "text-approved" : "text-ink-3"}`}
      />
      <span className={is ? "" : "text-ink-2"}>{name}</span>
      <span className="text-right text-xs wrap-anywhere text-ink-2">
        <Ticked text={more} />
      </span>
    </li>
  );
}
