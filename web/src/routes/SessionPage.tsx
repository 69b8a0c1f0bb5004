import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useSyncExternalStore } from "react";
import type { AgentState, Session } from "../api/generated";
import { AGENT, hosted, isProgram, namesApart, sessionName } from "../interactions/words";
import { Composer } from "../session/Composer";
import { SessionFeed } from "../session/feed";
import { need } from "../session/groups";
import { mayAnswer, useLive, useSession, useSessions } from "../session/live";
import { useNow } from "../session/now";
import { settings } from "../session/settings";
import { TranscriptView } from "../session/TranscriptView";
import { folder, span } from "../text/time";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Dock } from "./Dock";
import { LeftOutNotice } from "./LeftOutNotice";
import { useSessionPlace } from "./places";
import { SessionFacts } from "./SessionFacts";
import { TERMINAL_AWAY } from "./SessionList";
import { SessionMenu } from "./SessionMenu";
import { StopTurn } from "./StopTurn";

const QUIET: AgentState[] = ["idle", "ended", "detached", "parked"];

/** One session: what was said and done, the ask that waits, and room to write. */
export function SessionPage() {
  const { sessionId, askId, eventAt } = useSessionPlace();
  const { me, client } = useLive();
  const session = useSession(sessionId);
  const navigate = useNavigate();
  const feed = useMemo(() => new SessionFeed(sessionId, client, () => settings().interaction), [sessionId, client]);
  const view = useSyncExternalStore(feed.subscribe, feed.view);
  const box = useRef<HTMLTextAreaElement>(null);
  const { transcript } = view;
  // The events say it first; the list says it to those who have not read them yet.
  const told = transcript.seq > 0 ? transcript.agent : (session?.state ?? "idle");
  const openAsks = session?.openAsks ?? 0;
  const agent = told === "running" && openAsks > 0 && session?.state === "waiting" ? "waiting" : told;
  const name = namesApart(useSessions()).get(sessionId) ?? (session ? sessionName(session) : "Session");
  const program = session !== null && isProgram(session.agent);
  const goesOn = mayAnswer(me) && session !== null && agent !== "ended";
  const canWrite = goesOn && !program && !view.problem;
  const messages = session?.messages ?? "taken";
  const facts = session && <SessionFacts session={session} agent={agent} transcript={transcript} />;

  return (
    <div className="grid h-full min-h-0 min-w-0 grid-cols-[minmax(0,1fr)] bg-surface desk:grid-cols-[minmax(0,1fr)_272px]">
      <main className="flex min-h-0 min-w-0 flex-col">
        <header className="flex min-h-14 items-center gap-2 border-b border-line px-6 py-1.5 max-wide:px-2">
          <Button
            look="quiet"
            className="wide:hidden px-3 text-lg"
            aria-label="Back to the inbox"
            onClick={() => navigate({ to: "/" })}
          >
            ‹
          </Button>
          <div className="min-w-0 flex-1">
            <h1 className="truncate text-base font-semibold">{name}</h1>
            <p className="truncate text-xs text-ink-3">
              {session && <Below session={session} agent={agent} failed={transcript.failed} />}
            </p>
          </div>
          {!view.connected && (
            <p role="status" className="railed tone-expired bg-expired-bg px-2 py-1 text-xs text-tone">
              Not connected. Trying again…
            </p>
          )}
          {goesOn && !program && !session.inTerminal && !QUIET.includes(agent) && <StopTurn sessionId={sessionId} />}
          {session && <SessionMenu session={session} goesOn={goesOn} mayArchive={mayAnswer(me)} facts={facts} />}
        </header>
        {transcript.leftOut && session && (
          <LeftOutNotice leftOut={transcript.leftOut} agent={session.agent} mayTrust={mayAnswer(me)} />
        )}
        {view.problem ? (
          <p className="p-6 text-ink-2">{view.problem.message}</p>
        ) : view.ready && transcript.items.length === 0 ? (
          <p className="flex flex-1 items-center justify-center p-6 text-ink-2">
            {canWrite && messages === "taken"
              ? "Nothing was said yet. Write to the agent below."
              : "Nothing was said here."}
          </p>
        ) : (
          <TranscriptView view={view} cwd={session?.cwd ?? null} found={eventAt} key={sessionId} />
        )}
        <div className="flex max-h-[78dvh] min-h-0 shrink-0 flex-col pr-6 pb-[max(16px,env(safe-area-inset-bottom))] pl-[72px] max-wide:px-4">
          <div className="flex min-h-0 w-full max-w-[720px] flex-col">
            <Dock sessionId={sessionId} askId={askId} transcript={transcript} />
            {canWrite && messages === "taken" && <Composer sessionId={sessionId} waits={openAsks > 0} box={box} />}
            {canWrite && messages !== "taken" && <p className="mt-2 text-xs text-ink-2">{WRITE_THERE[messages]}</p>}
          </div>
        </div>
      </main>
      <aside
        aria-label="This session"
        className="hidden min-h-0 overflow-y-auto border-l border-line bg-canvas p-4 desk:block"
      >
        {facts}
      </aside>
    </div>
  );
}

const WRITE_THERE = {
  typed_in_terminal:
    "Write to this agent in its terminal: it would not read a message from here as yours. To write from every screen, start it with `holdstead run claude`.",
  terminal_away: "Its terminal is closed or not connected. Start the program there again to go on.",
};

/** `Claude Code in ~/code/shop-api, 41 min, waits for you`. */
function Below({ session, agent, failed }: { session: Session; agent: AgentState; failed: boolean }) {
  const now = useNow();
  const program = isProgram(session.agent);
  const terminal = session.inTerminal ? " in a terminal" : "";
  const where = hosted(session.agent) + terminal + (session.cwd ? ` in ${visible(folder(session.cwd))}` : "");
  const waits = need(session, now) === "waiting";
  const state = () => {
    if (session.openAsks > 0) return "waits for you";
    if (waits) return "asks in its terminal";
    if (session.messages === "terminal_away") return TERMINAL_AWAY;
    return failed && agent === "idle" ? "its last turn failed" : AGENT[agent];
  };
  const look = waits ? "font-medium text-pending" : failed ? "font-medium text-denied" : "";
  return (
    <>
      {where}
      {agent !== "ended" && `, ${span(now - Date.parse(session.openedAt))}`}
      {!(program && !waits) && (
        <>
          , <span className={look}>{state()}</span>
        </>
      )}
      {session.archived && `, archived by ${visible(session.archived.by)}`}
    </>
  );
}
