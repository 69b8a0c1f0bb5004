import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Interaction } from "../api/generated";
import { cutAt, differsAt } from "../interactions/alike";
import {
  count,
  does,
  headline,
  holdSoon,
  isProgram,
  kindIcon,
  lineOf,
  namesApart,
  sessionName,
} from "../interactions/words";
import { useSession, useSessions } from "../session/live";
import { useNow } from "../session/now";
import { age, folder } from "../text/time";
import { brief, visible } from "../text/visible";
import { Boundary } from "../ui/Boundary";
import { Icon } from "../ui/Icon";
import { Kbd } from "../ui/Kbd";
import { type Group, idOf, type Row, rowId } from "./triage";

interface Props {
  groups: Group[];
  /** Put off for now. */
  later: Interaction[];
  /** How many asks wait, each of those that are alike counted. */
  asked: number;
  selected: string | null;
  connected: boolean;
  /** What could not be done, in words. */
  problem: string | null;
  /** What stands there when nothing waits. */
  empty: ReactNode;
  onSelect: (id: string) => void;
}

/** What waits, by session: kind, mark and age at a glance. */
export function AskList({ groups, later, asked, selected, connected, problem, empty, onSelect }: Props) {
  const names = namesApart(useSessions());
  const rows = groups.reduce((sum, group) => sum + group.rows.length, 0);
  return (
    <>
      <header className="flex h-14 shrink-0 items-baseline gap-2 px-4 pt-3.5">
        <h1 className="text-lg font-semibold">Inbox</h1>
        {asked > 0 && <span className="text-ink-2">{asked} to decide</span>}
        {asked > rows && <span className="ml-auto text-xs text-ink-3">in {count(rows, "row")}, by session</span>}
      </header>
      {!connected && (
        <p role="status" className="railed tone-expired mx-4 mb-2 bg-tone-bg px-3 py-2 text-tone">
          Not connected. What you see may be old. Trying again…
        </p>
      )}
      <p role="alert" className="px-4 pb-1 text-xs text-denied empty:hidden">
        {problem}
      </p>
      <div className="min-h-0 flex-1 overflow-y-auto pb-4 [scrollbar-width:thin]">
        {groups.map((group) => (
          <section key={group.sessionId} aria-label={names.get(group.sessionId) ?? "A session"}>
            <GroupHeading group={group} listed={names.get(group.sessionId)} />
            <ul>
              {group.rows.map((row) => (
                <li key={rowId(row)}>
                  <AskRow row={row} isSelected={row.some((ask) => idOf(ask) === selected)} onSelect={onSelect} />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {empty && <div className="px-4">{empty}</div>}
        {later.length > 0 && (
          <section aria-label="Not now">
            <h2 className="px-4 pt-3.5 pb-1 text-xs font-semibold text-ink-2">Not now</h2>
            <ul>
              {later.map((ask) => (
                <li key={idOf(ask)}>
                  <AskRow row={[ask]} isSelected={idOf(ask) === selected} onSelect={onSelect} />
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
      <p
        aria-hidden="true"
        className="flex h-10 shrink-0 items-center gap-3 overflow-hidden border-t border-line px-4 text-xs whitespace-nowrap text-ink-3 max-wide:hidden"
      >
        <span>
          <Kbd>J</Kbd> <Kbd>K</Kbd> move
        </span>
        <span>
          <Kbd>N</Kbd> not now
        </span>
        <span>
          <Kbd>O</Kbd> session
        </span>
        <span>
          <Kbd>/</Kbd> find
        </span>
        <span>
          <Kbd>?</Kbd> keys
        </span>
      </p>
    </>
  );
}

function GroupHeading({ group, listed }: { group: Group; listed: string | undefined }) {
  const session = useSession(group.sessionId);
  const [ask] = group.rows[0] ?? [];
  if (!ask) return null;
  const name = listed ?? sessionName(session ?? { title: ask.sessionTitle, agent: ask.agent });
  const last = session?.cwd ? brief(folder(session.cwd)).split("/").pop() : null;
  const tail = [
    isProgram(ask.agent) ? "a program" : last === name ? null : last,
    ...(ask.request.parents ?? []).map(visible),
  ];
  const asks = group.rows.reduce((sum, row) => sum + row.length, 0);
  return (
    <h2 className="flex items-baseline gap-2 px-4 pt-3.5 pb-1 text-xs font-normal whitespace-nowrap text-ink-3">
      <b className="truncate font-semibold text-ink-2">{name}</b>
      <span className="min-w-0 truncate">{tail.filter(Boolean).join(" › ")}</span>
      <span className="ml-auto tabular-nums">{asks}</span>
    </h2>
  );
}

interface RowProps {
  row: Row;
  isSelected: boolean;
  onSelect: (id: string) => void;
}

/** A row that cannot be shown says so, and the others stay. */
function AskRow(props: RowProps) {
  return (
    <Boundary fallback={() => <p className="px-4 py-2 text-ink-2">An ask that this page cannot show</p>}>
      <RowLink {...props} />
    </Boundary>
  );
}

function RowLink({ row, isSelected, onSelect }: RowProps) {
  const now = useNow();
  const [ask] = row;
  if (!ask) return null;
  const { request } = ask;
  const isMono = lineOf(request) !== null;
  return (
    <Link
      to="/"
      search={(search) => ({ ...search, ask: idOf(ask) })}
      data-ask={idOf(ask)}
      aria-current={isSelected ? "true" : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        onSelect(idOf(ask));
      }}
      className={`grid min-h-[34px] grid-cols-[16px_minmax(0,1fr)_auto] gap-x-2.5 border-l-3 py-[7px] pr-4 pl-[13px] max-wide:min-h-13 max-wide:content-center max-wide:border-b max-wide:border-b-line max-wide:bg-surface ${
        isSelected ? "border-l-pending-rail bg-surface" : "border-l-transparent hover:bg-sunken"
      }`}
    >
      <Icon name={kindIcon(request)} className={`mt-0.5 size-4 ${isSelected ? "text-ink" : "text-ink-3"}`} />
      <span
        className={`min-w-0 max-wide:line-clamp-2 max-wide:wrap-anywhere wide:truncate ${isMono ? "font-mono text-mono" : ""}`}
      >
        {row.length > 1 ? <Many row={row} /> : headline(request, "row")}
      </span>
      <span className="min-w-6 text-right text-xs leading-5 text-ink-3 tabular-nums">{age(ask.openedAt, now)}</span>
      <Sub row={row} now={now} />
    </Link>
  );
}

/** `8 × terraform apply … -target=…`. */
function Many({ row }: { row: Row }) {
  const [ask] = row;
  const [before, , after] = cutAt((ask && lineOf(ask.request)) ?? "", differsAt(row) ?? 0);
  return (
    <>
      <b className="font-semibold">{row.length} ×</b> {visible(`${before}…${after}`)}
    </>
  );
}

/** What makes a row taller: a mark, in words; a park that is near; that it is parked, or was asked before. */
function Sub({ row, now }: { row: Row; now: number }): ReactNode {
  const [ask] = row;
  if (!ask) return null;
  const { marks = [], attempt } = ask.request;
  const soon = holdSoon(ask, now);
  const risks = [...new Set(marks.map((mark) => does(mark.risk)))];
  const parts: ReactNode[] = [
    risks.length > 0 && (
      <strong key="marked" className="font-semibold text-denied underline decoration-denied-rail underline-offset-2">
        {risks.join(", ")}
      </strong>
    ),
    row.length > 1 && "alike, one argument differs",
    ask.parked && (
      <span key="parked" className="font-medium text-parked">
        parked
      </span>
    ),
    attempt > 1 && "asked again",
    soon && (
      <span key="soon" className="font-medium text-pending">
        {soon}
      </span>
    ),
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return (
    <span className="col-span-2 col-start-2 truncate text-xs text-ink-3">
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a few words in a fixed order
        <span key={at}>
          {at > 0 && ", "}
          {part}
        </span>
      ))}
    </span>
  );
}
