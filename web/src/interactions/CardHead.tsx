import type { ReactNode } from "react";
import type { Interaction } from "../api/generated";
import { isOpen, isOver } from "../session/ask";
import { useNow } from "../session/now";
import { age } from "../text/time";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Key } from "../ui/Kbd";
import type { CardPlace } from "./AskCard";
import { NotNow } from "./NotNow";
import { useDesk } from "./transport";
import { boxMeans, MARK, origin, receipt, sessionName, tone, waiting } from "./words";

interface Props {
  /** The ask, or the first of several alike. */
  ask: Interaction;
  place: CardPlace;
  /** Beside the list it is the screen's own plane; elsewhere it is a card on another. */
  look: "card" | "pane";
  /** What will happen. */
  children: ReactNode;
}

/** The head of every card: where it stands, who asks from where, the ways on. */
export function CardHead({ ask, place, look, children }: Props) {
  const now = useNow();
  const { session, mayAnswer } = useDesk();
  const { request } = ask;
  const from = session(ask.sessionId);
  const line = isOver(ask) ? receipt(ask) : waiting(ask, age(ask.openedAt, now));
  const name = sessionName(from ?? { title: ask.sessionTitle, agent: ask.agent });
  const where = place.at > 0 ? `${place.at} of ${place.of}` : place.of > 0 ? `${place.of} more` : "";
  return (
    <header className="shrink-0 px-6 pb-1 max-wide:px-4">
      <div className="flex min-h-14 items-center gap-2 py-2 text-xs text-ink-3 max-wide:flex-wrap">
        {look === "pane" && (
          <Button look="quiet" size="small" className="-ml-3 wide:hidden" onClick={place.onLeave}>
            <Icon name="left" /> Inbox
          </Button>
        )}
        <div className="flex min-w-0 flex-1 items-center gap-2 max-wide:order-last max-wide:basis-full">
          <p
            role="status"
            className="min-w-0 shrink-0 border-l-3 bg-tone-bg px-2 py-0.5 font-semibold wrap-anywhere text-tone railed max-w-full"
          >
            <span className={ask.state === "submitted" ? "inline-block animate-pulse" : ""}>{MARK[tone(ask)]}</span>{" "}
            {line}
          </p>
          <p className="min-w-0 flex-1 truncate text-ink-2" title={boxMeans(from?.box)}>
            {place.onSession && (
              <>
                <button
                  type="button"
                  className="underline decoration-line-2 underline-offset-2 hover:decoration-current"
                  onClick={place.onSession}
                >
                  {name}
                </button>
                {", "}
              </>
            )}
            <span>{origin(request, ask.agent, from)}</span>
          </p>
        </div>
        <div className="ml-auto flex shrink-0 items-center max-wide:flex-1 max-wide:justify-end">
          {place.onWide && (
            <Button look="quiet" size="small" className="max-wide:hidden" onClick={place.onWide}>
              Wide <Key>W</Key>
            </Button>
          )}
          {where && <span className="px-2 tabular-nums max-wide:mx-auto">{where}</span>}
          {look === "card" && place.of > 1 && (
            <>
              <Button look="quiet" size="small" aria-label="Previous ask" onClick={() => place.onMove(-1)}>
                ‹
              </Button>
              <Button look="quiet" size="small" aria-label="Next ask" onClick={() => place.onMove(1)}>
                ›
              </Button>
            </>
          )}
          {isOpen(ask) && mayAnswer && <NotNow ask={ask} onNotNow={place.onNotNow} onTakeUp={place.onTakeUp} />}
          {look === "card" && (
            <Button look="quiet" size="small" aria-label="Close, deciding nothing" onClick={place.onLeave}>
              ✕
            </Button>
          )}
        </div>
      </div>
      {children}
    </header>
  );
}
