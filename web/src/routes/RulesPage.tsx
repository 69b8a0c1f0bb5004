import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { gateway } from "../api/gateway";
import type { ListedRule } from "../api/generated";
import { commandOf, LIFETIME, ruleWords } from "../interactions/words";
import { mayAnswer, useLive } from "../session/live";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { ago } from "../text/time";
import { plain } from "../text/visible";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { RULES } from "./rules";

/** What is decided without asking: every rule, where it comes from, how often it was used, and the way to revoke it. */
export function RulesPage() {
  const rules = useQuery({ queryKey: RULES, queryFn: gateway.rules, refetchInterval: 10_000 });
  const { me } = useLive();
  const all = rules.data?.rules ?? [];
  const yours = all.filter((rule) => rule.grantId);
  const files = all.filter((rule) => !rule.grantId);
  return (
    <main className="h-full overflow-y-auto px-6 pb-6 max-wide:px-4">
      <div className="mx-auto max-w-[880px]">
        <Link to="/" className="flex min-h-14 w-fit items-center wide:hidden">
          ‹ Inbox
        </Link>
        <h1 className="pt-5 text-lg font-semibold max-wide:pt-1">Rules</h1>
        <p className="pt-1 pb-4 text-ink-2">
          What these cover is decided without asking you. Revoke one, and you will be asked again. A rule counts in all
          your sessions, unless it names one.
        </p>
        <p role="alert" className="text-denied empty:hidden">
          {rules.error?.message}
        </p>
        {rules.data && yours.length === 0 && (
          <p className="py-6 text-base text-ink-2">
            You have saved no rules. Choose “Remember…” when you approve, and it is listed here.
          </p>
        )}
        <ul className="grid gap-1">
          {yours.map((rule) => (
            <Row key={`${rule.grantId} ${rule.sessionId ?? ""}`} rule={rule} />
          ))}
        </ul>
        {mayAnswer(me) && <NewRule />}
        {files.length > 0 && (
          <details className="pt-4">
            <summary className="cursor-pointer font-semibold">
              Built in, and your organisation's ({files.length})
            </summary>
            <ul className="grid gap-1 pt-2">
              {files.map((rule) => (
                <Row key={`${rule.layer} ${rule.agent ?? ""} ${rule.line}`} rule={rule} />
              ))}
            </ul>
          </details>
        )}
      </div>
    </main>
  );
}

function NewRule() {
  const [line, setLine] = useState("");
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: gateway.addRule,
    onSuccess: () => setLine(""),
    onSettled: () => queries.invalidateQueries({ queryKey: RULES }),
  });
  return (
    <form
      className="grid gap-1 pt-4"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(line);
      }}
    >
      <label htmlFor="new-rule" className="font-semibold">
        Add a rule
      </label>
      <div className="flex flex-wrap gap-2">
        <input
          id="new-rule"
          value={line}
          onChange={(event) => setLine(event.target.value)}
          placeholder="deny Bash(git push:*) # Ask me first"
          className={`${INPUT} min-w-0 flex-[1_1_280px] font-mono`}
        />
        <Button type="submit" disabled={add.isPending || !line.trim()}>
          Add
        </Button>
      </div>
      <p role="alert" className="text-xs text-denied empty:hidden">
        {add.error?.message}
      </p>
    </form>
  );
}

function Row({ rule }: { rule: ListedRule }) {
  const { me } = useLive();
  const now = useNow();
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: (id: string) => gateway.revokeRule(id, rule.sessionId),
    onSettled: () => queries.invalidateQueries({ queryKey: RULES }),
  });
  const { grantId } = rule;
  return (
    <li className="railed tone-approved flex flex-wrap items-center gap-x-3 gap-y-1 bg-surface px-3 py-2">
      <div className="min-w-0 flex-[1_1_280px]">
        <p className="font-mono text-mono font-medium wrap-anywhere whitespace-pre-line">
          {rule.rule === "exact_input" && rule.input ? (
            <Shown text={commandOf(rule.input) ? `$ ${commandOf(rule.input)}` : plain(rule.input)} where="payload" />
          ) : (
            ruleWords(rule)
          )}
        </p>
        <p className="text-xs wrap-anywhere text-ink-2">
          <Origin rule={rule} now={now} />{" "}
          {rule.uses === 0 ? "Never used." : `Used ${rule.uses} ${rule.uses === 1 ? "time" : "times"}`}
          {rule.lastUse && `, last ${ago(rule.lastUse, now)}.`}
        </p>
        {revoke.error && <p className="text-xs text-denied">{revoke.error.message}</p>}
      </div>
      {grantId && mayAnswer(me) && (
        <Button size="small" disabled={revoke.isPending} onClick={() => revoke.mutate(grantId)}>
          Revoke
        </Button>
      )}
    </li>
  );
}

function Origin({ rule, now }: { rule: ListedRule; now: number }) {
  if (rule.layer === "built_in") return <>Built in for {rule.agent}; the agent's own rules still hold.</>;
  if (rule.layer === "organisation") return <>Your organisation's file, line {rule.line}.</>;
  return (
    <>
      {rule.rule === "exact_input" && "Exactly this input. "}
      {rule.sessionId ? (
        <>
          In{" "}
          <Link to="/sessions/$sessionId" params={{ sessionId: rule.sessionId }} className="underline">
            <Shown text={rule.sessionTitle || "its session"} />
          </Link>
        </>
      ) : (
        "In all your sessions"
      )}
      , {LIFETIME[rule.scope ?? "always"]}.{" "}
      {rule.givenBy && rule.givenAt && (
        <>
          Saved by <Shown text={rule.givenBy} />, {ago(rule.givenAt, now)}.
        </>
      )}
    </>
  );
}
