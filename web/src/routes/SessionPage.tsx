import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useSyncExternalStore } from "react";
import type { AgentState } from "../api/generated";
import { AGENT, BOX, boxMeans, hosted, isProgram, namesApart, sessionName } from "../interactions/words";
import { Composer } from "../session/Composer";
import { SessionFeed } from "../session/feed";
import { mayAnswer, useLive, useSession, useSessions } from "../session/live";
import { settings } from "../session/settings";
import { TranscriptView } from "../session/TranscriptView";
import { folder } from "../text/time";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Dock } from "./Dock";
import { EndSession } from "./EndSession";
import { LeftOutNotice } from "./LeftOutNotice";
import { useSessionPlace } from "./places";

const QUIET: AgentState[] = ["idle", "ended", "detached", "parked"];

/** One session: what was said and done, the ask that waits, and room to write. */
export function SessionPage() {
  const { sessionId, askId } = useSessionPlace();
  const { me, client } = useLive();
  const session = useSession(sessionId);
  const navigate = useNavigate();
  const feed = useMemo(() => new SessionFeed(sessionId, client, () => settings().interaction), [sessionId, client]);
  const view = useSyncExternalStore(feed.subscribe, feed.view);
  const box = useRef<HTMLTextAreaElement>(null);
  const { transcript } = view;
  // The events say it first; the list says it to those who have not read them yet.
  const told = transcript.seq > 0 ? transcript.agent : (session?.state ?? "idle");
  const agent = told === "running" && (session?.openAsks ?? 0) > 0 && session?.state === "waiting" ? "waiting" : told;
  const name = namesApart(useSessions()).get(sessionId) ?? (session ? sessionName(session) : "Session");
  const program = session !== null && isProgram(session.agent);
  const goesOn = mayAnswer(me) && session !== null && agent !== "ended";
  const canWrite = goesOn && !program && !view.problem;

  return (
    <main className="flex h-dvh min-w-0 flex-col">
      <header className="flex items-center gap-2 border-b border-line px-6 py-2.5 max-wide:px-2">
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
          <p className="truncate text-xs text-ink-2" title={boxMeans(session?.box)}>
            {session &&
              hosted(
                session.agent,
                session.cwd && visible(folder(session.cwd)),
                program ? null : AGENT[agent],
                session.box && BOX[session.box.kind],
              )}
          </p>
        </div>
        {!view.connected && (
          <p role="status" className="railed tone-expired bg-expired-bg px-2 py-1 text-xs text-tone">
            Not connected. Trying again…
          </p>
        )}
        {goesOn && <EndSession sessionId={sessionId} />}
      </header>
      {transcript.leftOut && session && (
        <LeftOutNotice leftOut={transcript.leftOut} agent={session.agent} mayTrust={mayAnswer(me)} />
      )}
      {view.problem ? (
        <p className="p-6 text-ink-2">{view.problem.message}</p>
      ) : view.ready && transcript.items.length === 0 ? (
        <p className="flex flex-1 items-center justify-center p-6 text-ink-2">
          Nothing was said yet. Write to the agent below.
        </p>
      ) : (
        <TranscriptView view={view} key={sessionId} />
      )}
      <div className="flex max-h-[78dvh] min-h-0 shrink-0 flex-col px-6 pb-[max(16px,env(safe-area-inset-bottom))] max-wide:px-4">
        <div className="mx-auto flex min-h-0 w-full max-w-[720px] flex-col">
          <Dock sessionId={sessionId} askId={askId} transcript={transcript} />
          {canWrite && <Composer sessionId={sessionId} busy={!QUIET.includes(agent)} box={box} />}
        </div>
      </div>
    </main>
  );
}
