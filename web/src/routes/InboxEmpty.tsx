import { useHasSessions } from "../session/live";
import { FirstRun } from "./FirstRun";
import { InboxClear } from "./InboxClear";

/** An inbox with nothing in it leads somewhere. */
export function InboxEmpty() {
  const has = useHasSessions();
  if (has === null) return null;
  return has ? <InboxClear /> : <FirstRun />;
}
