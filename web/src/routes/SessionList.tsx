import { Link } from "@tanstack/react-router";
import type { Session } from "../api/generated";
import { hosted, isProgram, namesApart, sessionName } from "../interactions/words";
import { grouped, NEED, need, tail } from "../session/groups";
import { mayAnswer, useEndedSessions, useLive, useSessions } from "../session/live";
import { useNow } from "../session/now";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Kbd } from "../ui/Kbd";
import { show } from "./sheet";

/** So many of those that need nothing. */
const MOST_DONE = 5;

/** The sessions, by what they need: in the column on the left. */
export function SessionList() {
  const { me } = useLive();
  const now = useNow();
  const sessions = [...useSessions(), ...useEndedSessions()];
  const names = namesApart(sessions);
  return (
    <section aria-label="Sessions" className="-mx-2">
      {mayAnswer(me) && (
        <Button look="quiet" size="small" className="w-full justify-start" onClick={() => show("new session")}>
          <Icon name="plus" /> New session
        </Button>
      )}
      <Button look="quiet" size="small" className="w-full justify-start" onClick={() => show("palette")}>
        <Icon name="find" /> Find
        <span className="ml-auto">
          <Kbd>Ctrl K</Kbd>
        </span>
      </Button>
      {sessions.length === 0 && <p className="px-2 py-2 text-xs text-ink-3">No sessions yet.</p>}
      {grouped(sessions, now).map(({ need, sessions: found }) => {
        const isDone = need === "today" || need === "earlier";
        const shown = isDone ? found.slice(0, MOST_DONE) : found;
        return (
          <div key={need}>
            <h2 className="flex items-baseline gap-1.5 px-2 pt-3 pb-1 text-xs font-semibold text-ink-2">
              {NEED[need]} <span className="font-normal text-ink-3">{found.length}</span>
            </h2>
            <ul>
              {shown.map((session) => (
                <li key={session.sessionId}>
                  <SessionRow session={session} name={names.get(session.sessionId) ?? sessionName(session)} now={now} />
                </li>
              ))}
            </ul>
          </div>
        );
      })}
      {sessions.length > 0 && (
        <Link to="/sessions" className="block px-2 pt-3 text-xs text-ink-2 underline hover:text-ink">
          All sessions
        </Link>
      )}
    </section>
  );
}

/** A program that has ended, or whose machine is not connected. */
export const TERMINAL_AWAY = "its terminal is closed or not connected";

/** `shop-api, Claude Code`. Where the title is the folder, the folder is not said twice. */
export function about(session: Session, name: string): string {
  const last = session.cwd?.split("/").filter(Boolean).pop();
  const isNamedSo = last !== undefined && name === last;
  const failed = session.state === "idle" && session.lastStop === "failed" && "its last turn failed";
  const where = session.inTerminal && (session.messages === "terminal_away" ? TERMINAL_AWAY : "in a terminal");
  return [isNamedSo ? null : last, hosted(session.agent), where, session.state === "parked" && "parked", failed]
    .filter(Boolean)
    .join(", ");
}

export function SessionRow({ session, name, now }: { session: Session; name: string; now: number }) {
  const waits = need(session, now) === "waiting";
  const isDone = !waits && (session.state === "ended" || session.state === "idle" || isProgram(session.agent));
  const look = waits ? `font-semibold ${session.state === "parked" ? "text-parked" : "text-pending"}` : "text-ink-3";
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: session.sessionId }}
      className="tag grid min-h-11 grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 px-2 py-1 hover:bg-canvas aria-[current=page]:bg-canvas aria-[current=page]:font-medium"
    >
      <span className={`truncate ${isDone ? "text-ink-2" : ""}`}>{name}</span>
      <span className={`text-right text-xs leading-5 tabular-nums ${look}`}>
        {tail(session, now)}
        {session.openAsks > 0 && <span className="sr-only"> {session.openAsks === 1 ? "ask waits" : "asks wait"}</span>}
      </span>
      <span className="col-span-2 truncate text-xs font-normal text-ink-3">{about(session, name)}</span>
    </Link>
  );
}
