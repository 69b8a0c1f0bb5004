import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { gateway } from "../api/gateway";
import { count, headline, namesApart, sessionName } from "../interactions/words";
import { asksInTerminal, need } from "../session/groups";
import { mayAnswer, useLive, useSessions } from "../session/live";
import { useNow } from "../session/now";
import { useWaiting } from "../session/waiting";
import { span } from "../text/time";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { about } from "./SessionList";
import { SUGGESTIONS, Suggestions } from "./Suggestions";
import { show } from "./sheet";

/** Nothing waits: who works, what could be a rule, what was put off. */
export function InboxClear() {
  const { me } = useLive();
  const now = useNow();
  const sessions = useSessions();
  const names = namesApart(sessions);
  const { later } = useWaiting();
  const inTerminals = sessions.filter(asksInTerminal);
  const working = sessions.filter((session) => need(session, now) === "working");
  const suggested = useQuery({ queryKey: SUGGESTIONS, queryFn: gateway.suggestions, staleTime: 60_000 });
  const hasSuggestion = mayAnswer(me) && (suggested.data?.suggestions.length ?? 0) > 0;
  return (
    <section aria-labelledby="clear" className="max-w-[760px] px-10 pt-8 pb-10 max-wide:px-0 max-wide:pt-4">
      <h2 id="clear" className="text-[28px] leading-9 font-semibold tracking-tight">
        {inTerminals.length === 0 ? "Nothing waits for you." : "Nothing waits for you here."}
      </h2>
      <p className="pt-2 text-base text-ink-2">
        {working.length === 0
          ? "No agent is working."
          : `${count(working.length, "agent")} ${working.length === 1 ? "is" : "are"} working.`}
        {inTerminals.length > 0 &&
          ` ${count(inTerminals.length, "agent")} ${inTerminals.length === 1 ? "asks" : "ask"} in the terminal, and can only be answered there.`}
      </p>
      <ul className="pt-6">
        {[...inTerminals, ...working].map((session) => {
          const name = names.get(session.sessionId) ?? sessionName(session);
          return (
            <li key={session.sessionId} className="border-b border-line">
              <Link
                to="/sessions/$sessionId"
                params={{ sessionId: session.sessionId }}
                className="grid min-h-11 grid-cols-[20px_minmax(0,1fr)_auto] items-center gap-x-2 hover:bg-block"
              >
                <Icon name="sessions" className="size-4 text-ink-3" />
                <span className="truncate font-medium">{name}</span>
                <span className="text-xs text-ink-3">
                  {about(session, name)}, {span(now - Date.parse(session.openedAt))}
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {mayAnswer(me) && (
        <Button className="mt-4" onClick={() => show("new session")}>
          New session…
        </Button>
      )}
      <div className="grid grid-cols-2 gap-6 pt-6 max-wide:grid-cols-1">
        {hasSuggestion && (
          <section>
            <h3 className="pb-2 text-base font-semibold">Ask less</h3>
            <Suggestions most={1} />
            <Link to="/rules" className="block pt-2 text-xs underline">
              All rules
            </Link>
          </section>
        )}
        {later.length > 0 && (
          <section>
            <h3 className="pb-2 text-base font-semibold">Not now, {later.length}</h3>
            <ul className="border-t border-line">
              {later.map((ask) => (
                <li key={ask.request.interactionId} className="border-b border-line">
                  <Link
                    to="/"
                    search={{ ask: ask.request.interactionId }}
                    className="block truncate py-1.5 hover:underline"
                  >
                    {headline(ask.request, "row")}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </section>
  );
}
