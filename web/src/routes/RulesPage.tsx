import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { gateway } from "../api/gateway";
import type { Effect, ListedRule } from "../api/generated";
import { count, LIFETIME, ruleWords, shellLine } from "../interactions/words";
import { mayAnswer, useLive } from "../session/live";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { ago } from "../text/time";
import { plain } from "../text/visible";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { EffectMark } from "./EffectMark";
import { ExplainCall } from "./ExplainCall";
import { RULES } from "./rulesKey";
import { SUGGESTIONS, Suggestions } from "./Suggestions";

const MOST_SUGGESTED = 5;

/** What is decided without asking: every rule, where it comes from, how often it was used, and the way to revoke it. */
export function RulesPage() {
  const rules = useQuery({ queryKey: RULES, queryFn: gateway.rules, refetchInterval: 10_000 });
  const suggested = useQuery({ queryKey: SUGGESTIONS, queryFn: gateway.suggestions, staleTime: 60_000 });
  const { me } = useLive();
  const [wanted, setWanted] = useState("");
  const all = rules.data?.rules ?? [];
  const found = all.filter((rule) => literal(rule).toLowerCase().includes(wanted.trim().toLowerCase()));
  const yours = found.filter((rule) => rule.grantId);
  const files = found.filter((rule) => !rule.grantId);
  return (
    <main className="h-full overflow-y-auto bg-surface px-10 pb-10 max-wide:px-4">
      <div className="max-w-[1040px]">
        <header className="flex min-h-14 items-center gap-3">
          <h1 className="text-lg font-semibold">Rules</h1>
          <span className="flex-1 text-ink-3">{all.length > 0 && all.length}</span>
          <input
            type="search"
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
            aria-label="Find a rule"
            placeholder="Find a rule"
            className={`${INPUT} max-w-56 max-wide:max-w-36`}
          />
        </header>
        <p className="max-w-[76ch] pb-4 text-ink-2">
          What is allowed runs without you. The strictest rule that matches wins: deny, then ask, then allow. What no
          rule covers asks you.
        </p>
        <p role="alert" className="text-denied empty:hidden">
          {rules.error?.message}
        </p>
        {mayAnswer(me) && <ExplainCall />}
        {mayAnswer(me) && (suggested.data?.suggestions.length ?? 0) > 0 && (
          <Part title="Ask less" hint="From what you approved. None of these would allow what you denied.">
            <Suggestions most={MOST_SUGGESTED} />
          </Part>
        )}
        <Part title="Remembered by people" hint="Revoke one and you will be asked again.">
          {rules.data && yours.length === 0 && (
            <p className="border-t border-line py-3 text-ink-2">
              {wanted
                ? "No rule of yours has these words."
                : "You have saved no rules. Choose “Remember…” when you approve, and it is listed here."}
            </p>
          )}
          <ul>
            {yours.map((rule) => (
              <Row key={`${rule.grantId} ${rule.sessionId ?? ""}`} rule={rule} />
            ))}
          </ul>
          {mayAnswer(me) && <NewRule />}
        </Part>
        {files.length > 0 && (
          <Part title="Built in, and your organisation's" hint="Read only here.">
            <details open={wanted !== ""}>
              <summary className="w-fit cursor-pointer text-xs text-ink-2">Show {count(files.length, "rule")}</summary>
              <ul className="pt-2">
                {files.map((rule) => (
                  <Row key={`${rule.layer} ${rule.agent ?? ""} ${rule.line}`} rule={rule} />
                ))}
              </ul>
            </details>
          </Part>
        )}
      </div>
    </main>
  );
}

function Part({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  return (
    <section className="pt-5">
      <h2 className="flex flex-wrap items-baseline gap-x-2 pb-1.5 text-base font-semibold">
        {title} <small className="text-xs font-normal text-ink-3">{hint}</small>
      </h2>
      {children}
    </section>
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
      className="grid gap-1 border-t border-line pt-3"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(line);
      }}
    >
      <label htmlFor="new-rule" className="font-medium">
        Add a rule
      </label>
      <div className="flex flex-wrap gap-2">
        <input
          id="new-rule"
          value={line}
          onChange={(event) => setLine(event.target.value)}
          placeholder="deny Bash(git push:*) # Ask me first"
          autoComplete="off"
          spellCheck={false}
          className={`${INPUT} min-w-0 flex-[1_1_280px] font-mono text-mono`}
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

/** The rule as it is written; of an approval of one input, that input. */
function literal(rule: ListedRule): string {
  if (rule.rule !== "exact_input" || rule.input === undefined || rule.input === null) return ruleWords(rule);
  const command = shellLine(rule.toolName, rule.input);
  return command === null ? plain(rule.input) : `$ ${command}`;
}

function effect(rule: ListedRule): Effect {
  const first = rule.rule === "lines" ? (rule.lines[0]?.trimStart() ?? "") : "allow";
  if (first.startsWith("deny")) return "deny";
  return first.startsWith("ask") ? "ask" : "allow";
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
    <li className="grid grid-cols-[64px_minmax(0,1fr)_150px_80px] items-baseline gap-x-4 border-t border-line py-2 hover:bg-block max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:gap-y-1">
      <span className="text-xs">
        <EffectMark effect={effect(rule)} />
      </span>
      <div className="min-w-0 max-wide:col-span-2 max-wide:row-start-2">
        <p className="font-mono text-mono wrap-anywhere whitespace-pre-line">
          <Shown text={literal(rule)} where="payload" />
        </p>
        <p className="text-xs wrap-anywhere text-ink-3">
          <Origin rule={rule} now={now} />
        </p>
        {revoke.error && <p className="text-xs text-denied">{revoke.error.message}</p>}
      </div>
      <p className="text-right text-xs text-ink-2 tabular-nums max-wide:row-start-3 max-wide:text-left">
        {rule.uses === 0 ? "never used" : count(rule.uses, "use")}
        {rule.lastUse && <span className="text-ink-3">, {ago(rule.lastUse, now)}</span>}
      </p>
      <span className="text-right max-wide:row-start-3">
        {grantId && mayAnswer(me) && (
          <Button size="small" disabled={revoke.isPending} onClick={() => revoke.mutate(grantId)}>
            Revoke
          </Button>
        )}
      </span>
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
          Saved by <Shown text={rule.givenBy} />, {ago(rule.givenAt, now)}
          {rule.interactionId && (
            <>
              {" "}
              from{" "}
              <Link to="/" hash={rule.interactionId} className="underline">
                an ask
              </Link>
            </>
          )}
          .
        </>
      )}
    </>
  );
}
