import { gateway } from "../api/gateway";
import type { Interaction } from "../api/generated";
import { useLive } from "./live";

const HOUR_MS = 3_600_000;

export interface Snooze {
  /** Out of sight for an hour, on every screen of this person. */
  putOff: (ask: Interaction) => void;
  takeUp: (ask: Interaction) => void;
}

/** The gateway keeps what is put off, and brings it back when its time has come. What it refuses stays where it was. */
export function useSnooze(): Snooze {
  const { inbox } = useLive();
  const told = (id: string, call: Promise<Interaction>) =>
    void call.then(inbox.learn, () => inbox.refresh(id).catch(() => {}));
  return {
    putOff: ({ request: { interactionId, promptId } }) => {
      const until = new Date(Date.now() + HOUR_MS).toISOString();
      told(interactionId, gateway.snooze(interactionId, { promptId, until }));
    },
    takeUp: ({ request: { interactionId } }) => told(interactionId, gateway.unsnooze(interactionId)),
  };
}
