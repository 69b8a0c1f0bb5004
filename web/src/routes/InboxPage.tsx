import { Link } from "@tanstack/react-router";
import type { Interaction } from "../api/generated";
import { headline, MARK, namesApart, sessionName, TONE_CLASS, tone } from "../interactions/words";
import { useInbox, useSession, useSessions } from "../session/live";
import { useNow } from "../session/now";
import { useWaiting } from "../session/waiting";
import { age } from "../text/time";
import { visible } from "../text/visible";
import { InboxEmpty } from "./InboxEmpty";

/** What waits, over all sessions, oldest first. Nobody approves from a row. */
export function InboxPage() {
  const { ready, connected } = useInbox();
  const { now, later } = useWaiting();
  return (
    <main className="h-full overflow-y-auto px-6 pb-6 max-wide:px-4">
      <div className="mx-auto max-w-[880px]">
        <h1 className="pt-4 pb-3 text-lg font-semibold">
          Inbox{now.length > 0 && <span className="font-normal text-ink-2"> {now.length}</span>}
        </h1>
        {!connected && (
          <p role="status" className="railed tone-expired mb-3 bg-tone-bg px-3 py-2 text-tone">
            Not connected. What you see may be old. Trying again…
          </p>
        )}
        <Rows asks={now} />
        {ready && now.length === 0 && <InboxEmpty />}
        {later.length > 0 && (
          <>
            <h2 className="pt-6 pb-2 text-xs font-semibold text-ink-2">Not now</h2>
            <Rows asks={later} />
          </>
        )}
      </div>
    </main>
  );
}

function Rows({ asks }: { asks: Interaction[] }) {
  const now = useNow();
  const names = namesApart(useSessions());
  return (
    <ul className="grid gap-1">
      {asks.map((ask) => (
        <li key={ask.request.interactionId}>
          <AskRow ask={ask} now={now} listed={names.get(ask.sessionId)} />
        </li>
      ))}
    </ul>
  );
}

function AskRow({ ask, now, listed }: { ask: Interaction; now: number; listed: string | undefined }) {
  const session = useSession(ask.sessionId);
  const kind = tone(ask);
  const name = listed ?? sessionName(session ?? { title: ask.sessionTitle, agent: ask.agent });
  const place = [name, ...(ask.request.parents ?? []).map(visible)].join(" › ");
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: ask.sessionId }}
      search={{ ask: ask.request.interactionId }}
      data-ask={ask.request.interactionId}
      className={`railed ${TONE_CLASS[kind]} grid min-h-11 grid-cols-[16px_minmax(0,1fr)_auto_auto] items-baseline gap-x-3 gap-y-0.5 bg-surface px-3 py-2.5 hover:bg-sunken max-wide:grid-cols-[16px_minmax(0,1fr)_auto]`}
    >
      <span aria-hidden="true" className="text-center text-tone">
        {MARK[kind]}
      </span>
      <span className="truncate font-medium max-wide:line-clamp-2 max-wide:wrap-anywhere max-wide:whitespace-normal">
        {(ask.request.marks?.length ?? 0) > 0 && <span className="mr-2 text-xs font-semibold text-denied">marked</span>}
        {headline(ask.request, "row")}
      </span>
      <span className="text-xs text-ink-2 max-wide:order-last max-wide:col-span-2 max-wide:col-start-2">{place}</span>
      <span className="min-w-7 text-right text-xs text-ink-2">{age(ask.openedAt, now)}</span>
    </Link>
  );
}
