import type { Interaction } from "../api/generated";
import { waitingAsks } from "./inbox";
import { useInbox } from "./live";
import { useNow } from "./now";
import { isPutOff } from "./snooze";

export interface Waiting {
  now: Interaction[];
  /** Put off for now, on all of the person's screens. */
  later: Interaction[];
}

/** What waits, oldest first: over all sessions, or in one. */
export function useWaiting(sessionId?: string): Waiting {
  const inbox = useInbox();
  const time = useNow();
  const all = waitingAsks(inbox, sessionId);
  const isLater = (ask: Interaction) => isPutOff(ask, time);
  return { now: all.filter((ask) => !isLater(ask)), later: all.filter(isLater) };
}
