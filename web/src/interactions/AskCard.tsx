import { type ReactElement, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Interaction, InteractionRequest } from "../api/generated";
import { isOpen, isOver } from "../session/ask";
import { carryDraft } from "../session/drafts";
import { Shown } from "../text/Shown";
import { brief } from "../text/visible";
import { Boundary } from "../ui/Boundary";
import { Button } from "../ui/Button";
import { Key } from "../ui/Kbd";
import { useKeepFocus } from "../ui/useKeepFocus";
import { ApprovalCard } from "./ApprovalCard";
import { CardHead } from "./CardHead";
import { type CardKeys, CardProvider, type Card as CardState } from "./card";
import { FormCard } from "./FormCard";
import { Headline } from "./Headline";
import { QuestionCard } from "./QuestionCard";
import { SentValues } from "./SentValues";
import { useDesk } from "./transport";
import { draftName, useAnswer } from "./useAnswer";
import { useCardKeyboard } from "./useCardKeyboard";
import { useInert } from "./useInert";
import { useSight } from "./useSight";
import { headline, TONE_CLASS, tone } from "./words";

export interface CardPlace {
  /** Which of those that wait it is; 0: it waits no more. */
  at: number;
  of: number;
  onMove: (by: 1 | -1) => void;
  /** Leaves it, deciding nothing. */
  onLeave: () => void;
  /** Puts it off, for an hour unless a time is given. */
  onNotNow: (until?: Date) => void;
  /** Brings back what was put off. */
  onTakeUp?: () => void;
  /** An answer of this person's was taken. */
  onAnswered?: () => void;
  /** Shows its session. */
  onSession?: () => void;
  /** Gives it the whole screen, or takes it back. */
  onWide?: () => void;
}

interface Props {
  ask: Interaction;
  place: CardPlace;
  /** A person opened it: it gets the focus, on the card and never on a button. */
  focus?: boolean;
  /** It says something, or is on its way: do not put another in its place. */
  onBusy?: (busy: boolean) => void;
  /** Beside the list it is the screen's own plane; elsewhere it is a card on another. */
  look?: "card" | "pane";
  /** What happened before it was asked. */
  before?: ReactNode;
}

/** An ask that cannot be shown, such as one of a newer gateway's kind, says so, and the rest of the page stays usable. */
export function AskCard(props: Props) {
  return (
    <Boundary
      key={props.ask.request.interactionId}
      fallback={(reason, again) => <Unshown reason={reason} onAgain={again} onLeave={props.place.onLeave} />}
    >
      <Card {...props} />
    </Boundary>
  );
}

function Unshown({ reason, onAgain, onLeave }: { reason: string; onAgain: () => void; onLeave: () => void }) {
  return (
    <section role="alert" className="grid content-start gap-3 p-6 max-wide:p-4">
      <h2 className="text-lg font-semibold">This page cannot show this ask</h2>
      <p className="text-ink-2">
        Nothing was decided, and the ask stays open. A newer gateway may know it: load the page again, or look at it
        with <code className="font-mono">holdstead inbox</code>.
      </p>
      <p className="text-xs wrap-anywhere text-ink-3">{brief(reason)}</p>
      <div className="flex gap-2">
        <Button onClick={onAgain}>Try again</Button>
        <Button look="quiet" onClick={onLeave}>
          Close
        </Button>
      </div>
    </section>
  );
}

/** The frame around every ask: who asks, what happens without an answer, sending, and what became of it. */
function Card({ ask, place, focus = false, onBusy, look = "card", before }: Props) {
  const desk = useDesk();
  const { request } = ask;
  const { promptId } = request;
  const root = useRef<HTMLElement>(null);
  const inert = useInert(root, promptId);
  const answering = useAnswer(ask, inert.isInert, place.onAnswered);
  useKeepFocus(root, () => root.current?.focus({ preventScroll: true }));
  const [panel, showPanel] = useState<string | null>(null);
  const [whole, setWhole] = useState(false);
  const unfold = useCallback(() => setWhole(true), []);
  const sight = useSight(root, `${promptId} ${whole}`, unfold);
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
  // A button that Enter would press was meant for what was shown before.
  const first = useRef(promptId);
  useEffect(() => {
    if (first.current === promptId) return;
    first.current = promptId;
    if (root.current?.contains(document.activeElement)) root.current.focus({ preventScroll: true });
  }, [promptId]);
  const busy = answering.phase.at !== "editing";
  useEffect(() => onBusy?.(busy), [busy, onBusy]);

  const setPanel = (next: string | null) => {
    showPanel(next);
    // A second click of a double click must not land on what has just appeared.
    inert.rest();
    if (next === null) root.current?.focus({ preventScroll: true });
  };
  const card: CardState = {
    ask,
    answering,
    inert,
    sight,
    answerable,
    late,
    panel,
    setPanel,
    whole,
    setWhole,
    setKeys: useMemo(
      () => (next: CardKeys) => {
        keys.current = next;
      },
      [],
    ),
  };
  const board = useCardKeyboard({
    root,
    inert,
    keys,
    place,
    panel,
    setPanel,
    answerable,
    notNow: isOpen(ask) && desk.mayAnswer ? () => place.onNotNow() : undefined,
  });

  const kind = tone(ask);
  // What this person has answered here is one line. What ended otherwise stays open: there may be typed text to read.
  const isFolded = isOver(ask) && answering.taken && !busy && !unfolded;
  const frame =
    look === "pane"
      ? "h-full focus-visible:outline-none focus-visible:shadow-[inset_3px_0_0_var(--focus)]"
      : "max-h-full border-y border-r border-y-line border-r-line railed focus-visible:outline-offset-1";
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
        {...board}
        className={`enter group/card ${TONE_CLASS[kind]} flex min-h-0 w-full min-w-0 flex-col bg-surface ${frame}`}
      >
        <CardHead ask={ask} place={place} look={look}>
          <Headline request={request} />
        </CardHead>
        {isFolded ? (
          <div className="px-6 pb-1 max-wide:px-4">
            <SentValues ask={ask} />
            <Button look="quiet" size="small" className="-ml-2" onClick={() => setUnfolded(true)}>
              Show what was asked
            </Button>
          </div>
        ) : (
          <KindCard key={promptId} request={request} before={before} />
        )}
        {isOver(ask) && <Footer ask={ask} place={place} />}
      </section>
    </CardProvider>
  );
}

/** What only this kind of ask has. */
function KindCard({ request, before }: { request: InteractionRequest; before: ReactNode }): ReactElement {
  switch (request.kind) {
    case "approval":
      return <ApprovalCard request={request} before={before} />;
    case "question":
      return <QuestionCard request={request} />;
    case "form":
      return <FormCard request={request} />;
  }
  return unknownKind(request);
}

/** A newer gateway can ask what this page's types do not have. */
function unknownKind({ kind }: { kind: string }): never {
  throw new Error(`It is of a kind that this page does not know: ${brief(kind)}`);
}

/** What one can do with an ask that is over, and its short name as the terminal writes it. */
function Footer({ ask, place }: { ask: Interaction; place: CardPlace }) {
  return (
    <footer className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 px-6 pt-2 pb-[max(12px,env(safe-area-inset-bottom))] text-xs text-ink-3 max-wide:px-4">
      {place.of > 0 && (
        <Button size="small" onClick={() => place.onMove(1)}>
          Next ask <Key>J</Key>
        </Button>
      )}
      <Button look="quiet" size="small" onClick={place.onLeave}>
        Close
      </Button>
      <span className="ml-auto font-mono">
        <Shown text={ask.request.interactionId.slice(-4)} />
      </span>
    </footer>
  );
}
