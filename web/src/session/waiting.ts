import type { Interaction } from "../api/generated";
import { waitingAsks } from "./inbox";
import { useInbox } from "./live";

export interface Waiting {
  now: Interaction[];
  /** Put off by a person, on all screens, for a while. */
  later: Interaction[];
}

/** What waits, oldest first: over all sessions, or in one. */
export function useWaiting(sessionId?: string): Waiting {
  const all = waitingAsks(useInbox(), sessionId);
  const isLater = (ask: Interaction) => Boolean(ask.snoozedUntil);
  return { now: all.filter((ask) => !isLater(ask)), later: all.filter(isLater) };
}
