import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { gateway } from "../api/gateway";
import type { Decision } from "../api/generated";
import { useLive } from "../session/live";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { clock, span } from "../text/time";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { INPUT } from "../ui/inputs";
import { useSettled } from "../ui/useSettled";
import { byDay, decidedBy, iconOf, outcomeOf } from "./decisions";

/** What was decided: what, by whom or by which rule, when, and how long it waited. */
export function DecidedPage() {
  const now = useNow();
  const [typed, setTyped] = useState("");
  const words = useSettled(typed.trim());
  const found = useInfiniteQuery({
    queryKey: ["decisions", words],
    queryFn: ({ pageParam }) => gateway.decisions({ q: words, before: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    // What was found stays while the next words are looked up.
    placeholderData: (before) => before,
    refetchOnMount: "always",
  });
  const decisions = found.data?.pages.flatMap((page) => page.decisions) ?? [];
  return (
    <main className="h-full overflow-y-auto bg-surface px-10 pb-10 max-wide:px-4">
      <div className="max-w-[1040px]">
        <header className="flex min-h-14 flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="flex-1 text-lg font-semibold">Decided</h1>
          <Export format="csv" name="CSV" />
          <Export format="jsonl" name="JSON lines" />
        </header>
        <input
          type="search"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          aria-label="Find a decision"
          placeholder="Command, tool, session, words of an answer"
          autoComplete="off"
          spellCheck={false}
          className={`${INPUT} max-w-[420px]`}
        />
        <p role="alert" className="pt-2 text-denied empty:hidden">
          {found.error?.message}
        </p>
        <p role="status" className="pt-4 text-ink-2 empty:hidden">
          {found.isSuccess && decisions.length === 0 && !found.isPlaceholderData && nothing(words)}
        </p>
        {byDay(decisions, now).map(({ day, entries }) => (
          <section key={day} aria-label={day} className="pt-4">
            <h2 className="pb-1.5 text-xs font-semibold text-ink-2">{day}</h2>
            <ul className="border-t border-line">
              {entries.map((decision) => (
                <Row key={decision.interactionId} decision={decision} />
              ))}
            </ul>
          </section>
        ))}
        {found.hasNextPage && (
          <Button className="mt-4" disabled={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
            {found.isFetchingNextPage ? "Reading…" : "Show earlier ones"}
          </Button>
        )}
      </div>
    </main>
  );
}

const nothing = (words: string): string =>
  words ? `No decision has “${words}” in it.` : "Nothing was decided yet. What you or a rule decides is listed here.";

const TONE = { good: "text-approved", bad: "text-denied", quiet: "text-ink-2" } as const;

function Row({ decision }: { decision: Decision }) {
  const { me } = useLive();
  const { tone, icon, words } = outcomeOf(decision);
  const { who, more } = decidedBy(decision, me.name);
  const isCode = decision.kind === "approval";
  return (
    <li className="border-b border-line">
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: decision.sessionId }}
        search={{ ask: decision.interactionId }}
        className="grid grid-cols-[44px_16px_minmax(0,1fr)_150px_200px_64px] items-baseline gap-x-3 py-2 hover:bg-block max-wide:grid-cols-[44px_minmax(0,1fr)_auto] max-wide:gap-y-0.5"
      >
        <time dateTime={decision.decidedAt} className="text-ink-2 tabular-nums">
          {clock(decision.decidedAt)}
        </time>
        <Icon name={iconOf(decision)} className="size-4 translate-y-0.5 text-ink-3 max-wide:hidden" />
        <span className="min-w-0">
          <span className={`line-clamp-2 wrap-anywhere ${isCode ? "font-mono text-mono" : ""}`}>
            {(decision.marks?.length ?? 0) > 0 && (
              <span className="mr-2 font-sans text-xs font-semibold text-denied">marked</span>
            )}
            {isCode && decision.text && iconOf(decision) !== "shell" && (
              <span className="mr-2 font-sans text-xs font-semibold">
                <Shown text={decision.toolName} />
              </span>
            )}
            <Shown text={decision.text || decision.toolName} where={isCode ? "payload" : "prose"} />
          </span>
          <span className="block truncate text-xs text-ink-3">
            {visible(decision.sessionTitle || decision.cwd?.split("/").pop() || decision.agent)}
          </span>
        </span>
        <span className={`font-medium max-wide:col-start-2 ${TONE[tone]}`}>
          <Icon name={icon} className="mr-1.5 inline size-3.5 -translate-y-px" />
          {words}
        </span>
        <span className="min-w-0 text-ink-2 max-wide:col-start-2">
          <span className="block truncate">{who}</span>
          {more && <span className="line-clamp-2 text-xs wrap-anywhere text-ink-3">{more}</span>}
        </span>
        <span className="text-right text-ink-2 tabular-nums max-wide:col-start-3 max-wide:row-start-1">
          {span(decision.waitedMs)}
        </span>
      </Link>
    </li>
  );
}

/** The whole list as a file. It is fetched with the token in a header and saved from memory: no address carries it. */
function Export({ format, name }: { format: "csv" | "jsonl"; name: string }) {
  const [state, setState] = useState<{ is: "ready" } | { is: "reading" } | { is: "failed"; why: string }>({
    is: "ready",
  });
  const save = async () => {
    setState({ is: "reading" });
    try {
      const file = URL.createObjectURL(await gateway.exportDecisions(format));
      const link = document.createElement("a");
      link.href = file;
      link.download = `holdstead-decisions.${format}`;
      link.click();
      // The browser has taken it over by then.
      setTimeout(() => URL.revokeObjectURL(file), 60_000);
      setState({ is: "ready" });
    } catch (error) {
      setState({ is: "failed", why: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <>
      <Button size="small" disabled={state.is === "reading"} onClick={() => void save()}>
        {state.is === "reading" ? "Reading…" : name}
      </Button>
      {state.is === "failed" && (
        <span role="alert" className="text-xs text-denied">
          {state.why}
        </span>
      )}
    </>
  );
}
