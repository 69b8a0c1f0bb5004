import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Interaction } from "../api/generated";
import { Problem } from "../api/problem";
import { AskCard, type CardPlace } from "../interactions/AskCard";
import { headline, MARK, receipt, TONE_CLASS, tone } from "../interactions/words";
import { isOpen, isOver } from "../session/ask";
import { useInbox, useLive } from "../session/live";
import { askIn, type Transcript } from "../session/transcript";
import { useWaiting } from "../session/waiting";
import { Button } from "../ui/Button";
import { useKeepFocus } from "../ui/useKeepFocus";
import { useIsPhone } from "./places";
import { type Given, Receipts } from "./Receipts";
import { useSnooze } from "./useSnooze";

interface Props {
  sessionId: string;
  /** The ask that a link or a press named. */
  askId: string | null;
  transcript: Transcript;
}

/** The newer of what the inbox knows and what the session's events tell. */
function newest(ask: Interaction, transcript: Transcript): Interaction {
  const told = askIn(transcript, ask.request.interactionId);
  if (!told) return ask;
  return told.seq > ask.seq ? { ...ask, ...told } : { ...ask, parked: isOpen(ask) ? told.parked : ask.parked };
}

/** The open ask of a session, above the composer. On a phone it fills the screen once it is opened. */
export function Dock({ sessionId, askId, transcript }: Props) {
  const { inbox } = useLive();
  const { asks, connected } = useInbox();
  const here = useWaiting(sessionId).now;
  const all = useWaiting().now;
  const navigate = useNavigate();
  const isPhone = useIsPhone();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [held, setHeld] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [given, setGiven] = useState<Given | null>(null);
  const { putOff, takeUp } = useSnooze();

  const next = here.find((ask) => !left.has(ask.request.promptId))?.request.interactionId ?? null;
  const inSight = held === null ? undefined : asks.get(held);
  // What is in sight stays until the person leaves it, also where it ended by itself: it says how. An ended one gives way
  // to one that waits.
  const stays =
    inSight?.sessionId === sessionId &&
    (busy || (!left.has(inSight.request.promptId) && (here.includes(inSight) || next === null)));
  const id = askId ?? (stays ? held : next);
  useEffect(() => setHeld(id), [id]);

  // The next card takes the focus over from the one that was answered. After the last one nobody has it: a letter that
  // was meant for a card must not become part of a message.
  const box = useRef<HTMLDivElement>(null);
  useKeepFocus(box, () => box.current?.querySelector<HTMLElement>("[data-card]")?.focus({ preventScroll: true }));

  const known = id === null ? undefined : asks.get(id);
  const missing = id !== null && (known === undefined || Boolean(known.cut));
  useEffect(() => {
    if (!missing || id === null || !connected) return;
    // A link to an ask that ended, one from before the first snapshot, or one of which the list shows a part.
    inbox.refresh(id).catch((error) => {
      if (error instanceof Problem && error.status === 404) void navigate({ to: ".", search: {}, replace: true });
    });
  }, [missing, id, inbox, navigate, connected]);
  const fills = isPhone && askId !== null;
  const receipts = given && (
    <div className={fills ? "fixed inset-x-0 top-0 z-20" : "relative"}>
      <Receipts given={given} at={fills ? "top" : "dock"} onGone={() => setGiven(null)} />
    </div>
  );
  if (!known) return <div ref={box}>{receipts}</div>;
  if (known.cut)
    return (
      <div ref={box}>
        {receipts}
        <p role="status" className="px-4 py-2 text-ink-2">
          Loading the whole ask, {Math.ceil(known.cut.bytes / 1024)} KB…
        </p>
      </div>
    );
  const ask = newest(known, transcript);
  const { promptId, interactionId } = ask.request;

  const putAside = () => setLeft((before) => new Set([...before, promptId]));
  const leave = () => {
    if (askId) void navigate({ to: ".", search: {} });
    putAside();
  };
  const go = (other: Interaction | undefined) => {
    if (!other) return leave();
    void navigate({
      to: "/sessions/$sessionId",
      params: { sessionId: other.sessionId },
      search: { ask: other.request.interactionId },
    });
  };
  const at = all.findIndex((one) => one.request.interactionId === interactionId);
  const place: CardPlace = {
    at: at + 1,
    onTakeUp: () => takeUp(ask),
    of: all.length,
    onLeave: leave,
    onMove: (by) => go(all[at < 0 ? 0 : (at + by + all.length) % all.length]),
    onAnswered: () => {
      setGiven({ ids: [interactionId], at: Date.now() });
      putAside();
      if (askId !== interactionId) return;
      // On a phone the card is the screen: the next one of this session takes it.
      const waits = here.find((one) => one.request.interactionId !== interactionId);
      void navigate({ to: ".", search: { ask: waits?.request.interactionId }, replace: true });
    },
    onNotNow: (until) => {
      putOff([ask], until);
      putAside();
      const others = all.filter((one) => one.request.interactionId !== interactionId);
      if (askId && others.length > 0) go(others[0]);
      else if (askId) void navigate({ to: ".", search: {} });
    },
  };
  return (
    <>
      {receipts}
      <div
        ref={box}
        className={
          askId
            ? "flex min-h-0 max-wide:fixed max-wide:inset-0 max-wide:z-10 max-wide:bg-surface max-wide:[&>section]:h-dvh max-wide:[&>section]:max-h-dvh max-wide:[&>section]:rounded-none max-wide:[&>section]:border-y-0 max-wide:[&>section]:border-r-0"
            : "flex min-h-0 max-wide:hidden"
        }
      >
        <AskCard key={interactionId} ask={ask} place={place} focus={askId !== null} onBusy={setBusy} />
      </div>
      {!askId && <Strip ask={ask} onOpen={() => go(ask)} />}
    </>
  );
}

/** On a phone: one line, which opens the card. */
function Strip({ ask, onOpen }: { ask: Interaction; onOpen: () => void }) {
  const kind = tone(ask);
  return (
    <div className={`railed ${TONE_CLASS[kind]} flex items-center gap-2 bg-surface py-1 pr-1 pl-3 wide:hidden`}>
      <p className="min-w-0 flex-1 truncate">
        <span className="text-tone">{MARK[kind]}</span>{" "}
        <span className="font-medium">{isOver(ask) ? receipt(ask) : headline(ask.request, "row")}</span>
      </p>
      <Button look="solid" onClick={onOpen}>
        {isOpen(ask) ? "Answer" : "Show"}
      </Button>
    </div>
  );
}
