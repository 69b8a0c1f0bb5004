import type { Interaction } from "../api/generated";
import { waitingAsks } from "./inbox";
import { useInbox } from "./live";
import { useSettings } from "./settings";

export interface Waiting {
  now: Interaction[];
  /** Put off by the person, on this screen only. */
  later: Interaction[];
}

/** What waits, oldest first: over all sessions, or in one. */
export function useWaiting(sessionId?: string): Waiting {
  const inbox = useInbox();
  const { notNow } = useSettings();
  const all = waitingAsks(inbox, sessionId);
  const isLater = (ask: Interaction) => notNow.includes(ask.request.promptId);
  return { now: all.filter((ask) => !isLater(ask)), later: all.filter(isLater) };
}
