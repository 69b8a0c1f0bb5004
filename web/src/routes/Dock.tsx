import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Interaction } from "../api/generated";
import { Problem } from "../api/problem";
import { AskCard, type CardPlace } from "../interactions/AskCard";
import { headline, MARK, TONE_CLASS, tone } from "../interactions/words";
import { isOpen } from "../session/ask";
import { useInbox, useLive } from "../session/live";
import { askIn, type Transcript } from "../session/transcript";
import { useWaiting } from "../session/waiting";
import { Button } from "../ui/Button";
import { useKeepFocus } from "../ui/useKeepFocus";
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
  const [closed, setClosed] = useState<string | null>(null);
  const [held, setHeld] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const { putOff, takeUp } = useSnooze();

  // What a person named; what still has something to say; the oldest.
  const heldHere = held !== null && asks.get(held)?.sessionId === sessionId ? held : null;
  const next = here.find((ask) => ask.request.promptId !== closed)?.request.interactionId ?? null;
  const isHeldOpen = heldHere !== null && here.some((ask) => ask.request.interactionId === heldHere);
  const docked =
    heldHere !== null && (busy || (isHeldOpen && asks.get(heldHere)?.request.promptId !== closed)) ? heldHere : next;
  const id = askId ?? docked;
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
  if (!known) return <div ref={box} />;
  if (known.cut)
    return (
      <div ref={box}>
        <p role="status" className="px-4 py-2 text-ink-2">
          Loading the whole ask, {Math.ceil(known.cut.bytes / 1024)} KB…
        </p>
      </div>
    );
  const ask = newest(known, transcript);
  const { promptId, interactionId } = ask.request;

  const leave = () => {
    if (askId) void navigate({ to: ".", search: {} });
    setClosed(promptId);
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
    onNotNow: (until) => {
      putOff([ask], until);
      setClosed(promptId);
      const others = all.filter((one) => one.request.interactionId !== interactionId);
      if (askId && others.length > 0) go(others[0]);
      else if (askId) void navigate({ to: ".", search: {} });
    },
  };
  return (
    <>
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
        <span className="font-medium">{headline(ask.request, "row")}</span>
      </p>
      <Button look="solid" onClick={onOpen}>
        {isOpen(ask) ? "Answer" : "Show"}
      </Button>
    </div>
  );
}
