import { Link } from "@tanstack/react-router";
import { useLive } from "../session/live";
import { useWaiting } from "../session/waiting";
import { Shown } from "../text/Shown";
import { Icon, type IconName } from "../ui/Icon";
import { Keys } from "./Keys";
import { SessionList } from "./SessionList";

const PLACE =
  "tag flex min-h-8 items-center gap-2.5 px-2 text-ink-2 hover:bg-canvas hover:text-ink aria-[current=page]:bg-canvas aria-[current=page]:font-medium aria-[current=page]:text-ink";

interface Place {
  to: "/" | "/sessions" | "/decided" | "/rules" | "/you";
  name: string;
  icon: IconName;
}

const INBOX: Place = { to: "/", name: "Inbox", icon: "inbox" };
const SESSIONS: Place = { to: "/sessions", name: "Sessions", icon: "sessions" };
const DECIDED: Place = { to: "/decided", name: "Decided", icon: "tick" };
const RULES: Place = { to: "/rules", name: "Rules", icon: "rules" };
const YOU: Place = { to: "/you", name: "You", icon: "me" };

/**
 * Where one can go: the column on the left, and only its icons where there is less room.
 * @param thin icons only, however much room there is
 */
export function Sidebar({ thin }: { thin: boolean }) {
  const { me } = useLive();
  const { now } = useWaiting();
  const named = thin ? "sr-only" : "sr-only desk:not-sr-only";
  const place = (one: Place, className = "") => (
    <Link
      to={one.to}
      title={one.name}
      activeOptions={{ exact: true, includeSearch: false }}
      className={`${PLACE} ${thin ? "justify-center" : "justify-center desk:justify-start"} ${className}`}
    >
      <Icon name={one.icon} />
      <span className={named}>{one.name}</span>
      {one === INBOX && now.length > 0 && (
        <span className={`font-semibold text-pending tabular-nums ${named} ${thin ? "" : "desk:ml-auto"}`}>
          {now.length}
        </span>
      )}
    </Link>
  );
  return (
    <nav
      aria-label="Places"
      className="flex h-dvh min-w-0 flex-col border-r border-line bg-sunken max-wide:hidden"
      data-thin={thin || undefined}
    >
      <Link
        to="/"
        className={`flex h-14 shrink-0 items-center gap-2 px-4 text-base font-semibold ${thin ? "justify-center" : "justify-center desk:justify-start"}`}
      >
        <img src="/icon.svg" alt="" className="size-5" />
        <span className={named}>Holdstead</span>
      </Link>
      <div className="grid gap-px px-2">
        {place(INBOX)}
        {place(SESSIONS, thin ? "" : "desk:hidden")}
        {place(DECIDED)}
        {place(RULES)}
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-4 pt-3 pb-4">
        {!thin && (
          <div className="hidden desk:block">
            <SessionList />
          </div>
        )}
      </div>
      <div
        className={`flex min-h-12 shrink-0 items-center gap-1 border-t border-line px-2 text-xs text-ink-2 ${thin ? "flex-col" : "max-desk:flex-col max-desk:py-1"}`}
      >
        <Link
          to="/you"
          title="You"
          className="tag flex min-h-8 min-w-0 flex-1 items-center gap-2 px-2 hover:bg-canvas hover:text-ink aria-[current=page]:text-ink"
        >
          <Icon name="me" className={`size-4 ${thin ? "" : "desk:hidden"}`} />
          <span className={`truncate ${named}`}>
            <Shown text={me.name} />
          </span>
        </Link>
        <Keys />
      </div>
    </nav>
  );
}

/** On a phone: the places under the thumb. */
export function Tabs() {
  const { now } = useWaiting();
  return (
    <nav
      aria-label="Tabs"
      className="grid grid-cols-4 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] wide:hidden"
    >
      {[INBOX, SESSIONS, DECIDED, YOU].map((one) => (
        <Link
          key={one.to}
          to={one.to}
          activeOptions={{ exact: true, includeSearch: false }}
          className="relative grid min-h-14 place-items-center content-center gap-0.5 border-t-2 border-transparent text-xs text-ink-2 aria-[current=page]:border-ink aria-[current=page]:font-medium aria-[current=page]:text-ink"
        >
          <Icon name={one.icon} />
          {one.name}
          {one === INBOX && now.length > 0 && (
            <span className="tone-pending tag absolute top-1 left-1/2 ml-2 bg-tone-bg px-1 font-semibold text-tone tabular-nums">
              {now.length}
            </span>
          )}
        </Link>
      ))}
    </nav>
  );
}
