import { useState } from "react";
import { count, namesApart, sessionName } from "../interactions/words";
import { grouped, NEED } from "../session/groups";
import { mayAnswer, useArchivedSessions, useEndedSessions, useLive, useSessions } from "../session/live";
import { useNow } from "../session/now";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { ArchiveButton } from "./ArchiveButton";
import { SessionRow } from "./SessionList";
import { show } from "./sheet";

function Archived() {
  const { me } = useLive();
  const now = useNow();
  const [wanted, setWanted] = useState(false);
  const sessions = useArchivedSessions(wanted);
  const names = namesApart(sessions);
  return (
    <section aria-label="Archived">
      <Button look="quiet" size="small" className="-ml-2" aria-expanded={wanted} onClick={() => setWanted(!wanted)}>
        {wanted ? "Hide archived" : "Show archived"}
      </Button>
      {wanted && (
        <ul className="-mx-2 divide-y divide-line">
          {sessions.map((session) => (
            <li key={session.sessionId} className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-1">
              <SessionRow session={session} name={names.get(session.sessionId) ?? sessionName(session)} now={now} />
              {mayAnswer(me) && <ArchiveButton session={session} />}
            </li>
          ))}
          {sessions.length === 0 && <li className="px-2 py-2 text-ink-2">None is archived.</li>}
        </ul>
      )}
    </section>
  );
}

/** All sessions, by what they need. */
export function SessionsPage() {
  const { me } = useLive();
  const now = useNow();
  const sessions = [...useSessions(), ...useEndedSessions()];
  const names = namesApart(sessions);
  return (
    <main className="h-full overflow-y-auto bg-surface px-10 pb-10 max-wide:px-4">
      <div className="max-w-[760px]">
        <header className="flex min-h-14 items-center gap-3">
          <h1 className="flex-1 text-lg font-semibold">Sessions</h1>
          <Button look="quiet" size="small" onClick={() => show("palette")}>
            <Icon name="find" /> Find
          </Button>
          {mayAnswer(me) && (
            <Button size="small" onClick={() => show("new session")}>
              <Icon name="plus" /> New session
            </Button>
          )}
        </header>
        {sessions.length === 0 && <p className="text-ink-2">No sessions yet.</p>}
        {grouped(sessions, now).map(({ need, sessions: found }) => (
          <section key={need} aria-label={`${NEED[need]}: ${count(found.length, "session")}`} className="pb-3">
            <h2 className="flex justify-between border-b border-line py-1.5 text-xs font-semibold text-ink-2">
              {NEED[need]} <span className="font-normal text-ink-3">{found.length}</span>
            </h2>
            <ul className="-mx-2 divide-y divide-line border-b border-line">
              {found.map((session) => (
                <li key={session.sessionId} className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-1">
                  <SessionRow session={session} name={names.get(session.sessionId) ?? sessionName(session)} now={now} />
                  {mayAnswer(me) && <ArchiveButton session={session} />}
                </li>
              ))}
            </ul>
          </section>
        ))}
        <Archived />
      </div>
    </main>
  );
}
