import { useEffect, useId, useRef, useState } from "react";
import type { Interaction, ResponseDraft } from "../api/generated";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { age } from "../text/time";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Kbd, Key } from "../ui/Kbd";
import { useKeepFocus } from "../ui/useKeepFocus";
import type { CardPlace } from "./AskCard";
import { cutAt, differsAt } from "./alike";
import { CardActions } from "./CardBody";
import { CardHead } from "./CardHead";
import { type Card, type CardKeys, CardProvider } from "./card";
import { Decide } from "./Decide";
import { Fact, Facts } from "./Facts";
import { RefusalPanel } from "./Refusal";
import { useDesk } from "./transport";
import { useAnswerMany } from "./useAnswerMany";
import { useCardKeyboard } from "./useCardKeyboard";
import { useInert } from "./useInert";
import { NOT_SHOWN, useSight } from "./useSight";
import { author, lineOf, TONE_CLASS, tone } from "./words";

interface Props {
  asks: Interaction[];
  place: CardPlace;
  onAnswered: (ids: string[]) => void;
  /** From now on each has its own row. */
  onApart: () => void;
}

const NOTHING_FOLDED = () => {};
const idOf = (ask: Interaction) => ask.request.interactionId;

/** Alike asks as one card: every one in full, what differs marked. Each gets an answer of its own. */
export function AlikeCard({ asks, place, onAnswered, onApart }: Props) {
  const desk = useDesk();
  const now = useNow();
  const name = useId();
  const root = useRef<HTMLElement>(null);
  const approveButton = useRef<HTMLButtonElement>(null);
  const keys = useRef<CardKeys>({});
  const showing = asks.map((ask) => ask.request.promptId).join(" ");
  const inert = useInert(root, showing);
  const sight = useSight(root, showing, NOTHING_FOLDED);
  const [panel, showPanel] = useState<string | null>(null);
  const [armed, setArmed] = useState(false);
  const [reason, setReason] = useState("");
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const chosen = asks.filter((ask) => !left.has(idOf(ask)));
  const answering = useAnswerMany(chosen, inert.isInert, onAnswered);
  useKeepFocus(root, () => root.current?.focus({ preventScroll: true }));
  // The card, never a button; also when one more joins while a finger is on its way.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each showing begins anew
  useEffect(() => root.current?.focus({ preventScroll: true }), [showing]);

  const answerable = desk.mayAnswer && desk.mode === "on" && chosen.length > 0;
  const setPanel = (next: string | null) => {
    showPanel(next);
    inert.rest();
    if (next === null) root.current?.focus({ preventScroll: true });
  };
  const [first] = asks;
  const send = (response: ResponseDraft) => answering.send(response);
  const approve = () => send({ action: "approve", scope: "once" });
  const deny = (said?: string) => send({ action: "deny", ...(said && { reason: said }) });
  const sawAll = () => {
    if (sight.all) return true;
    sight.showNext();
    inert.rest();
    return false;
  };
  keys.current = {
    letters: {
      a: () => {
        if (!inert.isInert() && sawAll()) approveButton.current?.focus();
      },
      d: () => setPanel("refuse"),
      " ": () => sawAll(),
      s: onApart,
    },
    // Many take two acts, as what is marked does.
    send: () => (panel === "refuse" ? deny(reason.trim() || undefined) : undefined),
  };
  const board = useCardKeyboard({
    root,
    inert,
    keys,
    place,
    panel,
    setPanel,
    answerable,
    notNow: () => place.onNotNow(),
  });
  if (!first) return null;
  const at = differsAt(asks) ?? 0;
  const [before, , after] = cutAt(lineOf(first.request) ?? "", at);
  const says = [...new Set(asks.map((ask) => ask.request.agentSays).filter((words) => words != null))];
  const toggle = (ask: Interaction) => {
    const next = new Set(left);
    if (!next.delete(idOf(ask))) next.add(idOf(ask));
    setLeft(next);
    inert.rest();
  };
  const card: Card = {
    ask: first,
    answering: { ...answering, fieldErrors: {}, taken: false },
    inert,
    sight,
    answerable,
    late: false,
    panel,
    setPanel,
    whole: true,
    setWhole: () => {},
    setKeys: () => {},
  };
  return (
    <CardProvider value={card}>
      <section
        ref={root}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys work while it has the focus
        tabIndex={0}
        data-card={idOf(first)}
        data-many={asks.length}
        data-inert={inert.inert || undefined}
        aria-label={`${asks.length} alike: ${visible(`${before}…${after}`)}`}
        aria-busy={answering.phase.at === "sending"}
        {...board}
        className={`enter ${TONE_CLASS[tone(first)]} flex h-full min-h-0 w-full min-w-0 flex-col bg-surface focus-visible:shadow-[inset_3px_0_0_var(--focus)] focus-visible:outline-none`}
      >
        <CardHead ask={first} place={place} look="pane">
          <h2 className="font-mono text-command font-medium wrap-anywhere">
            <b className="font-semibold">{asks.length} ×</b> {visible(`${before}…${after}`)}
          </h2>
          <p className="max-w-[72ch] pb-2 text-ink-2">
            Alike: one argument differs. Each is one ask, with an answer of its own in the log. Untick what you want to
            look at alone.
          </p>
        </CardHead>
        <div data-scrolls="" className="min-h-0 flex-auto overflow-y-auto px-6 pb-4 max-wide:px-4">
          <ul className="mb-4 border-t border-line">
            {asks.map((ask, index) => {
              const [begin, differs, end] = cutAt(lineOf(ask.request) ?? "", at);
              return (
                <li key={idOf(ask)} data-item={idOf(ask)} className="border-b border-line">
                  <label
                    htmlFor={`${name}-${index}`}
                    className="grid min-h-9 grid-cols-[16px_20px_minmax(0,1fr)_auto] items-baseline gap-x-2.5 py-1.5 max-wide:min-h-11"
                  >
                    <input
                      id={`${name}-${index}`}
                      type="checkbox"
                      className="mt-0.5 size-4 self-start"
                      checked={!left.has(idOf(ask))}
                      onChange={() => toggle(ask)}
                    />
                    <span className="text-xs text-ink-3 tabular-nums">{index + 1}</span>
                    <code className="font-mono text-mono wrap-anywhere">
                      <Shown text={begin} where="payload" />
                      <b className="rounded-[2px] bg-sunken px-0.5 font-semibold">
                        <Shown text={differs} where="payload" />
                      </b>
                      <Shown text={end} where="payload" />
                    </code>
                    <span className="text-xs text-ink-3">{age(ask.openedAt, now)}</span>
                    <Rest input={ask.request.input} />
                  </label>
                </li>
              );
            })}
          </ul>
          <span data-input-end="" className="-mt-4 block h-px" />
          <Facts>
            {says.length > 0 && (
              <Fact name={`${author(first.request)} says`}>
                {says.map((words, index) => (
                  <span key={words}>
                    {index > 0 && "; "}“<Shown text={words} />”
                  </span>
                ))}
              </Fact>
            )}
            {first.request.decisionReason && (
              <Fact name="Asked because">
                <Shown text={first.request.decisionReason} />
              </Fact>
            )}
          </Facts>
        </div>
        <CardActions
          hint={
            !sight.all ? (
              NOT_SHOWN
            ) : armed ? (
              <span className="max-wide:hidden">
                <Kbd>Enter</Kbd> approves {chosen.length}
              </span>
            ) : (
              <span className="max-wide:hidden">
                Many: <Kbd>A</Kbd>, then <Kbd>Enter</Kbd>
              </span>
            )
          }
        >
          {panel === "refuse" && (
            <RefusalPanel
              word={`Deny ${chosen.length}`}
              question="What should it do instead? The agent reads this word for word, for each of them."
              reason={reason}
              onReason={setReason}
              onRefuse={deny}
            />
          )}
          {panel === "sure" && (
            <div className="grid gap-3">
              <h3 className="font-semibold">Approve {chosen.length} at once?</h3>
              <div className="flex flex-row-reverse justify-end gap-2 max-wide:grid max-wide:justify-stretch">
                <Decide className="max-wide:min-h-13" onDecide={approve}>
                  Approve {chosen.length}
                </Decide>
                <Button className="max-wide:min-h-13" onClick={() => setPanel(null)}>
                  Back <Key>Esc</Key>
                </Button>
              </div>
            </div>
          )}
          {panel === null && (
            <div className="flex flex-wrap items-center gap-2 max-wide:grid max-wide:grid-cols-2">
              <Decide
                ref={approveButton}
                className="max-wide:order-last max-wide:min-h-13"
                onFocus={() => setArmed(true)}
                onBlur={() => setArmed(false)}
                onDecide={(event) => {
                  if (!sawAll()) return;
                  if (event.detail > 0) setPanel("sure");
                  else approve();
                }}
              >
                Approve {chosen.length === asks.length ? "all " : ""}
                {chosen.length} <Key>A</Key>
              </Decide>
              <Button className="max-wide:col-span-2" onClick={onApart}>
                One by one <Key>S</Key>
              </Button>
              <Button className="ml-auto max-wide:ml-0 max-wide:min-h-13" onClick={() => setPanel("refuse")}>
                Deny {chosen.length === asks.length ? "all " : ""}
                {chosen.length}… <Key>D</Key>
              </Button>
            </div>
          )}
        </CardActions>
      </section>
    </CardProvider>
  );
}

/** What an input has besides its command. */
function Rest({ input }: { input: unknown }) {
  const { command: _, ...rest } = (input ?? {}) as Record<string, unknown>;
  const parts = Object.entries(rest);
  if (parts.length === 0) return null;
  return (
    <span className="col-span-2 col-start-3 text-xs wrap-anywhere text-ink-2">
      {parts.map(([key, value]) => (
        <span key={key} className="block">
          <Shown text={`${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`} where="payload" />
        </span>
      ))}
    </span>
  );
}
