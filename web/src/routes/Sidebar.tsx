import { Link } from "@tanstack/react-router";
import { useWaiting } from "../session/waiting";
import { Account } from "./Account";
import { SessionList } from "./SessionList";

const NAV =
  "tag -mx-2 flex min-h-9 items-center justify-between px-2 hover:bg-sunken aria-[current=page]:bg-sunken aria-[current=page]:font-medium";

/** Where one can go. On a phone the inbox shows this. */
export function Sidebar() {
  const { now } = useWaiting();
  return (
    <nav aria-label="Places" className="flex h-dvh flex-col gap-4 border-r border-line px-4 pt-3 max-wide:hidden">
      <Brand />
      <div className="grid gap-px">
        <Link to="/" className={NAV} activeOptions={{ exact: true }}>
          Inbox
          {now.length > 0 && <span className="tone-pending font-medium text-tone">{now.length}</span>}
        </Link>
        <Link to="/rules" className={NAV}>
          Rules
        </Link>
      </div>
      <div className="-mx-2 min-h-0 flex-1 overflow-y-auto px-2">
        <SessionList />
      </div>
      <Account />
    </nav>
  );
}

export function Brand() {
  return (
    <Link to="/" className="flex min-h-9 w-fit items-center gap-2 text-base font-semibold">
      <img src="/icon.svg" alt="" className="size-5" />
      Holdstead
    </Link>
  );
}
