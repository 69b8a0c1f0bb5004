import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Interaction } from "../api/generated";
import { Problem } from "../api/problem";
import { AlikeCard } from "../interactions/AlikeCard";
import { AskCard, type CardPlace } from "../interactions/AskCard";
import { useInbox, useLive } from "../session/live";
import { useWaiting } from "../session/waiting";
import { useKeepFocus } from "../ui/useKeepFocus";
import { AskList } from "./AskList";
import { InboxEmpty } from "./InboxEmpty";
import { JustBefore } from "./JustBefore";
import { useInboxPlace, useIsPhone } from "./places";
import { type Given, Receipts } from "./Receipts";
import { idOf, nextFrom, type Row, rowId, rowWith, triage } from "./triage";
import { MOVE } from "./useKeys";
import { useSnooze } from "./useSnooze";

/** The desk: what waits on the left, the one that is selected on the right, complete. Nobody approves from a row. */
export function InboxPage() {
  const { asks, ready, connected } = useInbox();
  const { now, later } = useWaiting();
  const navigate = useNavigate();
  const { askId, wide } = useInboxPlace();
  const isPhone = useIsPhone();
  const [apart, setApart] = useState<ReadonlySet<string>>(new Set());
  const [given, setGiven] = useState<Given | null>(null);

  const snooze = useSnooze();
  const groups = triage(
    now.filter((ask) => !snooze.isGoing(ask)),
    apart,
  );
  const rows = groups.flatMap((group) => group.rows);
  const selected = rowWith(rows, askId);
  // The rows as they were while the selected ask was one of them: where to go on when it is not.
  const order = useRef<Row[]>(rows);
  if (selected || askId === null) order.current = rows;

  const select = (id: string | null, how: "open" | "move" = "move") =>
    void navigate({
      to: "/",
      search: (search) => ({ ...search, ask: id ?? undefined }),
      replace: how === "move",
    });
  // A desk always shows one; a phone shows the list until somebody opens one. What is selected stays in the address, so
  // that no ask that comes later takes its place.
  const first = rows[0] ? rowId(rows[0]) : null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when there is something to select
  useEffect(() => {
    if (askId === null && first !== null && !isPhone && ready) select(first);
  }, [askId, first, isPhone, ready]);

  const known = askId === null ? undefined : asks.get(askId);
  useWhole(askId, known, selected);

  const goOn = () => {
    if (askId === null) return;
    const next = nextFrom(order.current, askId, rows);
    select(next && rowId(next));
  };
  // An answer is on its way for a moment: it goes on from what is there when it has arrived, and only where the person
  // still looks at it.
  const latest = useRef({ askId, goOn });
  latest.current = { askId, goOn };
  const answered = (ids: string[]) => {
    setGiven({ ids, at: Date.now() });
    if (latest.current.askId !== null && ids.includes(latest.current.askId)) latest.current.goOn();
  };
  const move = (by: 1 | -1) => {
    if (askId === null || !selected) return goOn();
    const next = rows[rows.indexOf(selected) + by];
    if (next) select(rowId(next));
  };
  useEffect(() => {
    const onMove = (event: Event) => move((event as CustomEvent<1 | -1>).detail);
    document.addEventListener(MOVE, onMove);
    return () => document.removeEventListener(MOVE, onMove);
  });

  // The next card takes the focus over from the one that was answered.
  const pane = useRef<HTMLDivElement>(null);
  useKeepFocus(pane, () => pane.current?.querySelector<HTMLElement>("[data-card]")?.focus({ preventScroll: true }));

  const at = selected ? rows.indexOf(selected) + 1 : 0;
  const place = (ask: Interaction, shown: Interaction[]): CardPlace => ({
    at,
    of: rows.length,
    onMove: move,
    onLeave: () => (isPhone ? select(null) : undefined),
    onNotNow: (until) => {
      snooze.putOff(shown, until);
      goOn();
    },
    onTakeUp: () => snooze.takeUp(ask),
    onAnswered: () => answered(shown.map(idOf)),
    onSession: () =>
      void navigate({
        to: "/sessions/$sessionId",
        params: { sessionId: ask.sessionId },
        search: { ask: idOf(ask) },
      }),
    onWide: isPhone
      ? undefined
      : () =>
          void navigate({ to: "/", search: (search) => ({ ...search, wide: wide ? undefined : true }), replace: true }),
  });

  // The list is not to be seen beside the card.
  const fills = isPhone || wide;
  const isEmpty = ready && rows.length === 0;
  return (
    <main
      className={`grid h-full min-h-0 grid-cols-[minmax(0,1fr)] ${wide ? "" : "wide:grid-cols-[360px_minmax(0,1fr)] desk:grid-cols-[396px_minmax(0,1fr)] hall:grid-cols-[460px_minmax(0,1fr)]"}`}
    >
      {wide && <h1 className="sr-only">Inbox</h1>}
      <div className={`relative flex min-h-0 min-w-0 flex-col ${wide ? "wide:hidden" : ""}`}>
        <AskList
          groups={groups}
          later={later}
          asked={now.length}
          selected={askId}
          connected={connected}
          empty={isPhone && isEmpty && <InboxEmpty />}
          problem={snooze.problem}
          onSelect={(id) => select(id, isPhone ? "open" : "move")}
        />
        {!fills && given && <Receipts given={given} at="list" onGone={() => setGiven(null)} />}
      </div>
      <div
        ref={pane}
        className={`relative min-h-0 min-w-0 border-l border-line bg-surface ${askId === null ? "max-wide:hidden" : "max-wide:fixed max-wide:inset-0 max-wide:z-10 max-wide:border-0"}`}
      >
        {selected && selected.length > 1 ? (
          <AlikeCard
            key={rowId(selected)}
            asks={selected}
            place={place(selected[0] as Interaction, selected)}
            onAnswered={answered}
            onApart={() => setApart(new Set([...apart, ...selected.map(idOf)]))}
          />
        ) : known && !known.cut ? (
          <AskCard
            key={idOf(known)}
            ask={known}
            place={place(known, [known])}
            focus
            look="pane"
            before={<JustBefore ask={known} />}
          />
        ) : known?.cut ? (
          <p role="status" className="px-6 py-4 text-ink-2">
            Loading the whole ask, {Math.ceil(known.cut.bytes / 1024)} KB…
          </p>
        ) : (
          isEmpty &&
          !isPhone && (
            <div className="h-full overflow-y-auto">
              <InboxEmpty />
            </div>
          )
        )}
        {fills && given && <Receipts given={given} at="top" onGone={() => setGiven(null)} />}
      </div>
    </main>
  );
}

/** An ask that is shown is there whole: one that ended, one from before the first snapshot, or one the list has in part. */
function useWhole(askId: string | null, known: Interaction | undefined, row: Row | null) {
  const { inbox } = useLive();
  const { connected } = useInbox();
  const navigate = useNavigate();
  const wanted = [
    ...(known === undefined || known.cut ? [askId] : []),
    ...(row ?? []).filter((ask) => ask.cut).map(idOf),
  ];
  const names = wanted.filter((id) => id !== null).join(" ");
  useEffect(() => {
    if (names === "" || !connected) return;
    for (const id of names.split(" "))
      inbox.refresh(id).catch((error) => {
        if (error instanceof Problem && error.status === 404) void navigate({ to: "/", search: {}, replace: true });
      });
  }, [names, inbox, navigate, connected]);
}
