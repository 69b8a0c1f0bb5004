import { type ReactNode, useEffect, useRef, useState } from "react";
import type { InteractionRequest } from "../api/generated";
import { isOpen } from "../session/ask";
import { useNow } from "../session/now";
import { Prose } from "../text/Prose";
import { Shown } from "../text/Shown";
import { Button } from "../ui/Button";
import { useCard } from "./card";
import { Fact, Facts } from "./Facts";
import { useDesk } from "./transport";
import { author, holdWords, isProgram, lateHint } from "./words";

/** What is asked: it scrolls, the actions below it never do. */
export function CardBody({ request, children }: { request: InteractionRequest; children: ReactNode }) {
  const { late, answerable } = useCard();
  const box = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  const [more, setMore] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => {
      setScrolls(element.scrollHeight > element.clientHeight);
      setMore(element.scrollHeight - element.scrollTop - element.clientHeight > 8);
    };
    const sized = new ResizeObserver(look);
    sized.observe(element);
    for (const child of element.children) sized.observe(child);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      sized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return (
    <>
      <div
        ref={box}
        data-scrolls=""
        // A keyboard scrolls what has the focus.
        {...(scrolls && { tabIndex: 0, role: "group", "aria-label": "What is asked" })}
        className="@container min-h-0 flex-auto overflow-y-auto px-6 pt-1 pb-4 max-wide:px-4"
      >
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
          {(request.attempt > 1 || request.error) && (
            <Warning>
              Asked again{request.attempt > 1 && ` (attempt ${request.attempt})`}
              {request.error && ": "}
              {request.error && <Shown text={request.error} />}
            </Warning>
          )}
          {request.mayHaveRun && (
            <Warning>
              This may already have run: the agent died before it confirmed an approval of the very same input.
            </Warning>
          )}
          {late && answerable && <p>{lateHint(request)}</p>}
          {children}
        </div>
      </div>
      {more && (
        <p aria-hidden="true" className="shrink-0 border-t border-line px-6 pt-1 text-xs text-ink-3 max-wide:px-4">
          More below ↓
        </p>
      )}
    </>
  );
}

/** The asker's own words, and why a person is asked. */
export function Says({ request }: { request: InteractionRequest }) {
  return (
    <Facts>
      {request.agentSays && (
        <Fact name={`${author(request)} says`}>
          “<Prose text={request.agentSays} />”
        </Fact>
      )}
      {request.decisionReason && (
        <Fact name="Asked because">
          <Prose text={request.decisionReason} />
        </Fact>
      )}
    </Facts>
  );
}

export function Warning({ children }: { children: ReactNode }) {
  return <p className="railed tone-pending bg-tone-bg px-3 py-2 wrap-anywhere text-tone">{children}</p>;
}

interface ActionsProps {
  children: ReactNode;
  /** What was typed, and could not be sent. */
  kept?: string;
  /** What keys would do. */
  hint?: ReactNode;
}

/** What can be done: the actions, or what is open in their place; above it, what became of the last try. */
export function CardActions({ children, kept = "", hint }: ActionsProps) {
  const { answerable, ask, answering, inert } = useCard();
  const { mode, setMode, mayAnswer } = useDesk();
  const now = useNow();
  return (
    <div className="relative grid max-h-[70%] shrink-0 gap-2 overflow-y-auto border-t border-line px-6 py-3 pb-[max(12px,env(safe-area-inset-bottom))] empty:hidden max-wide:px-4">
      {inert.inert && answerable && <span aria-hidden="true" className="resting absolute top-0 left-0 h-px bg-ink-2" />}
      <Notice />
      {answering.phase.at === "sending" && (
        <p role="status" className="animate-pulse text-xs font-medium">
          Sending…
        </p>
      )}
      {answerable && children}
      {isOpen(ask) && !mayAnswer && <p className="text-ink-2">You may look at this, not answer it.</p>}
      {isOpen(ask) && mayAnswer && mode === "off" && (
        <p className="flex flex-wrap items-center gap-2">
          <span className="min-w-0 flex-1">This browser shows asks and does not answer them.</span>
          <Button onClick={() => setMode("on")}>Answer here</Button>
        </p>
      )}
      {!answerable && !isOpen(ask) && answering.phase.at !== "late" && kept && (
        <Kept text={kept} sessionId={ask.sessionId} />
      )}
      {isOpen(ask) && (
        <p className="flex items-baseline gap-4 text-xs text-ink-3 max-wide:order-first">
          <span className="min-w-0">{holdWords(ask, now)}</span>
          {answerable && hint && <span className="min-w-0 text-ink-2">{hint}</span>}
          <span className="ml-auto font-mono">
            <Shown text={ask.request.interactionId.slice(-4)} />
          </span>
        </p>
      )}
    </div>
  );
}

function Notice() {
  const { answering } = useCard();
  const { phase } = answering;
  if (phase.at === "editing" || phase.at === "sending") return null;
  return (
    <div role="alert" className="tag flex flex-wrap items-center gap-2 border-l-[3px] border-ink-2 bg-sunken px-3 py-2">
      <p className="min-w-0 flex-[1_1_240px] wrap-anywhere">
        <Shown text={phase.words} />
      </p>
      {phase.at === "uncertain" ? (
        <Button size="small" onClick={phase.retry}>
          Retry
        </Button>
      ) : (
        <Button look="quiet" size="small" onClick={answering.dismiss}>
          OK
        </Button>
      )}
    </div>
  );
}

/** What a person wrote and could not send stays readable, and can still reach the agent. */
function Kept({ text, sessionId }: { text: string; sessionId: string }) {
  const { transport, session } = useDesk();
  const [said, setSaid] = useState<string | null>(null);
  const agent = session(sessionId)?.agent;
  const send = () =>
    transport.say(sessionId, text).then(
      () => setSaid("Sent to the agent as a message."),
      (error: Error) => setSaid(`Not sent: ${error.message}`),
    );
  return (
    <div className="grid gap-1">
      <p className="text-xs text-ink-2">Your text</p>
      <p className="bg-sunken px-3 py-2 wrap-anywhere whitespace-pre-wrap">
        <Shown text={text} />
      </p>
      <div className="flex items-center gap-2">
        {agent && !isProgram(agent) && (
          <Button size="small" onClick={send}>
            Send as a message
          </Button>
        )}
        <span role="status" className="text-xs text-ink-2">
          {said}
        </span>
      </div>
    </div>
  );
}
