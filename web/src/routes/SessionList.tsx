import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Session } from "../api/generated";
import { AGENT, count, hosted, isProgram, namesApart, sessionName } from "../interactions/words";
import { mayAnswer, useEndedSessions, useLive, useSessions } from "../session/live";
import { Button } from "../ui/Button";
import { NewSession } from "./NewSession";

/** The sessions, those that wait for a person marked. */
export function SessionList() {
  const { me } = useLive();
  const [opening, setOpening] = useState(false);
  const [withEnded, setWithEnded] = useState(false);
  const open = useSessions();
  const ended = useEndedSessions(withEnded);
  const listed = [...open, ...ended];
  const names = namesApart(listed);
  return (
    <section aria-labelledby="sessions-heading" className="flex min-h-0 flex-col">
      <div className="flex items-center justify-between py-1">
        <h2 id="sessions-heading" className="text-xs font-semibold text-ink-2">
          Sessions
        </h2>
        {mayAnswer(me) && (
          <Button look="quiet" size="small" className="-mr-2" onClick={() => setOpening(true)}>
            + New session
          </Button>
        )}
      </div>
      {listed.length === 0 && <p className="py-2 text-xs text-ink-2">No session is open.</p>}
      <ul className="-mx-2 grid gap-px">
        {listed.map((session) => (
          <li key={session.sessionId}>
            <Row session={session} name={names.get(session.sessionId) ?? sessionName(session)} />
          </li>
        ))}
      </ul>
      <Button look="quiet" size="small" className="-ml-2 w-fit" onClick={() => setWithEnded(!withEnded)}>
        {withEnded ? "Hide ended sessions" : "Show ended sessions"}
      </Button>
      <NewSession open={opening} onClose={() => setOpening(false)} />
    </section>
  );
}

const DOT: Partial<Record<Session["state"], string>> = {
  running: "◐",
  waiting: "◐",
  parked: "‖",
  parking: "‖",
  detached: "✕",
};

function Row({ session, name }: { session: Session; name: string }) {
  const waits = session.openAsks > 0;
  const does = isProgram(session.agent) ? null : AGENT[session.state];
  const state = waits ? count(session.openAsks, "open ask") : does;
  const tone = waits ? (session.state === "parked" ? "tone-parked" : "tone-pending") : "tone-expired";
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: session.sessionId }}
      className={`tag ${tone} grid min-h-11 grid-cols-[16px_minmax(0,1fr)] items-center gap-x-2 px-2 py-1.5 hover:bg-sunken aria-[current=page]:bg-sunken`}
    >
      <span aria-hidden="true" className="text-center text-xs text-tone">
        {waits ? (session.state === "parked" ? "‖" : "●") : (DOT[session.state] ?? "·")}
      </span>
      <span className="truncate font-medium">{name}</span>
      <span className="col-start-2 truncate text-xs text-ink-2">{hosted(session.agent, state)}</span>
    </Link>
  );
}
