import { type KeyboardEvent, type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import type { Interaction, InteractionRequest } from "../api/generated";
import { isOpen, isOver } from "../session/ask";
import { carryDraft } from "../session/drafts";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { age } from "../text/time";
import { Button } from "../ui/Button";
import { useKeepFocus } from "../ui/useKeepFocus";
import { ApprovalCard } from "./ApprovalCard";
import { type Card, type CardKeys, CardProvider } from "./card";
import { FormCard } from "./FormCard";
import { QuestionCard } from "./QuestionCard";
import { SentValues } from "./SentValues";
import { useDesk } from "./transport";
import { draftName, useAnswer } from "./useAnswer";
import { useInert } from "./useInert";
import { boxMeans, headline, holdWords, MARK, origin, receipt, TONE_CLASS, tone, waiting } from "./words";

export interface CardPlace {
  /** Which of those that wait it is; 0: it waits no more. */
  at: number;
  of: number;
  onMove: (by: 1 | -1) => void;
  /** Leaves it, deciding nothing. */
  onLeave: () => void;
  onNotNow: () => void;
}

interface Props {
  ask: Interaction;
  place: CardPlace;
  /** A person opened it: it gets the focus, on the card and never on a button. */
  focus?: boolean;
  /** It says something, or is on its way: do not put another in its place. */
  onBusy?: (busy: boolean) => void;
}

/** The frame around every ask: who asks, what happens without an answer, sending, and what became of it. */
export function AskCard({ ask, place, focus = false, onBusy }: Props) {
  const desk = useDesk();
  const { request } = ask;
  const { promptId } = request;
  const root = useRef<HTMLElement>(null);
  const inert = useInert(root, promptId);
  const answering = useAnswer(ask, inert.isInert);
  useKeepFocus(root, () => root.current?.focus({ preventScroll: true }));
  const [panel, showPanel] = useState<string | null>(null);
  const [unfolded, setUnfolded] = useState(false);
  const keys = useRef<CardKeys>({});
  const session = desk.session(ask.sessionId);

  const late =
    ask.state === "closed" &&
    ask.closing === "expired" &&
    request.kind !== "approval" &&
    session !== null &&
    session.state !== "ended";
  // Nobody decides on a part of what would be done.
  const answerable = (isOpen(ask) || late) && !ask.cut && desk.mayAnswer && desk.mode === "on";

  // Without values from the tool, what was typed for the last showing is still the best start.
  const shown = useRef(promptId);
  if (shown.current !== promptId) {
    if (Object.keys(request.initialValues ?? {}).length === 0)
      carryDraft(draftName(shown.current), draftName(promptId));
    shown.current = promptId;
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new showing closes what was open for the last
  useEffect(() => showPanel(null), [promptId, answerable]);
  useEffect(() => {
    if (focus) root.current?.focus({ preventScroll: true });
  }, [focus]);
  const busy = answering.phase.at !== "editing";
  useEffect(() => onBusy?.(busy), [busy, onBusy]);

  const setPanel = (next: string | null) => {
    showPanel(next);
    // A second click of a double click must not land on what has just appeared.
    inert.rest();
    if (next === null) root.current?.focus({ preventScroll: true });
  };
  const card: Card = {
    ask,
    answering,
    inert,
    answerable,
    late,
    panel,
    setPanel,
    setKeys: useMemo(
      () => (next: CardKeys) => {
        keys.current = next;
      },
      [],
    ),
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { target } = event;
    const isTyping =
      target instanceof HTMLElement && target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
    const letter = event.key.toLowerCase();
    if (event.key === "Escape") {
      // Leaves, never decides.
      if (panel !== null) setPanel(null);
      else place.onLeave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      if (answerable) keys.current.send?.();
    } else if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "]") {
      place.onMove(1);
    } else if (event.key === "[") {
      place.onMove(-1);
    } else if (panel !== null) {
      // Whoever opened it is about to type.
      return;
    } else if (letter === "n" && isOpen(ask)) {
      place.onNotNow();
    } else if (!answerable) {
      return;
    } else if (/^[1-9]$/.test(event.key) && keys.current.digit) {
      keys.current.digit(Number(event.key));
    } else if (keys.current.letters?.[letter]) {
      keys.current.letters[letter]();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const kind = tone(ask);
  // What this person has answered here is one line. What ended otherwise stays open: there may be typed text to read.
  const isFolded = isOver(ask) && answering.taken && !busy && !unfolded;
  return (
    <CardProvider value={card}>
      <section
        ref={root}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys work while it has the focus
        tabIndex={0}
        data-card={request.interactionId}
        data-inert={inert.inert || undefined}
        aria-label={`${headline(request)}, ${kind}`}
        aria-busy={answering.phase.at === "sending"}
        onKeyDown={onKeyDown}
        className={`enter ${TONE_CLASS[kind]} flex max-h-full min-h-0 w-full flex-col border-y border-r border-y-line border-r-line bg-surface railed focus-visible:outline-offset-1`}
      >
        <Header ask={ask} place={place} />
        {isFolded ? (
          <div className="px-4 pb-1">
            <SentValues ask={ask} />
            <Button look="quiet" size="small" className="-ml-2" onClick={() => setUnfolded(true)}>
              Show what was asked
            </Button>
          </div>
        ) : (
          <KindCard key={promptId} request={request} />
        )}
        <Footer ask={ask} place={place} />
      </section>
    </CardProvider>
  );
}

/** What only this kind of ask has. */
function KindCard({ request }: { request: InteractionRequest }): ReactElement {
  switch (request.kind) {
    case "approval":
      return <ApprovalCard request={request} />;
    case "question":
      return <QuestionCard request={request} />;
    case "form":
      return <FormCard request={request} />;
  }
}

function Header({ ask, place }: { ask: Interaction; place: CardPlace }) {
  const now = useNow();
  const { session } = useDesk();
  const { request } = ask;
  const from = session(ask.sessionId);
  const line = isOver(ask) ? receipt(ask) : waiting(ask, age(ask.openedAt, now));
  const others = place.of > 1 || (place.of === 1 && place.at === 0);
  return (
    <header className="shrink-0 px-4 pt-3 pb-2">
      <div className="flex items-start gap-2 max-wide:flex-col-reverse max-wide:items-stretch">
        <p role="status" className="tag -ml-2 w-fit bg-tone-bg px-2 py-0.5 font-medium wrap-anywhere text-tone">
          <span className={ask.state === "submitted" ? "inline-block animate-pulse" : ""}>{MARK[tone(ask)]}</span>{" "}
          {line}
        </p>
        <div className="ml-auto flex shrink-0 items-center text-xs text-ink-2 max-wide:-mt-2 max-wide:-mr-2">
          {others && (
            <>
              <Button look="quiet" size="small" aria-label="Previous ask" onClick={() => place.onMove(-1)}>
                ‹
              </Button>
              <span>{place.at > 0 ? `${place.at} of ${place.of}` : `${place.of} more`}</span>
              <Button look="quiet" size="small" aria-label="Next ask" onClick={() => place.onMove(1)}>
                ›
              </Button>
            </>
          )}
          {isOpen(ask) && (
            <Button
              look="quiet"
              size="small"
              onClick={place.onNotNow}
              title="Put it off on this screen (N). Nothing is decided."
            >
              Not now
            </Button>
          )}
          <Button look="quiet" size="small" aria-label="Close, deciding nothing" onClick={place.onLeave}>
            ✕
          </Button>
        </div>
      </div>
      <p className="mt-2 text-xs wrap-anywhere text-ink-2" title={boxMeans(from?.box)}>
        {origin(request, ask.agent, from)}
      </p>
      <h2 className="mt-1 line-clamp-6 text-base font-semibold wrap-anywhere whitespace-pre-wrap">
        {headline(request)}
      </h2>
    </header>
  );
}

/** What happens without an answer, and the ask's short name as the terminal writes it. */
function Footer({ ask, place }: { ask: Interaction; place: CardPlace }) {
  const now = useNow();
  return (
    <footer className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 px-4 pt-2 pb-[max(8px,env(safe-area-inset-bottom))] text-xs text-ink-2">
      {isOver(ask) ? (
        <>
          {place.of > 0 && (
            <Button size="small" onClick={() => place.onMove(1)}>
              Next ask ›
            </Button>
          )}
          <Button look="quiet" size="small" onClick={place.onLeave}>
            Close
          </Button>
        </>
      ) : (
        <span className="min-w-0 flex-1">{holdWords(ask, now)}</span>
      )}
      <span className="ml-auto font-mono">
        <Shown text={ask.request.interactionId.slice(-4)} />
      </span>
    </footer>
  );
}
