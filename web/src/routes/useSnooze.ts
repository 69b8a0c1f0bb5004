import { useState } from "react";
import { gateway } from "../api/gateway";
import type { Interaction } from "../api/generated";
import { reasonOf } from "../api/problem";
import { useLive } from "../session/live";
import { laters } from "../session/snooze";

/** Putting asks off for all of a person's screens. What could not be put off stays where it is, and why is said. */
export function useSnooze() {
  const { inbox } = useLive();
  const [problem, setProblem] = useState<string | null>(null);
  /** Prompts whose word is on its way. */
  const [going, setGoing] = useState<ReadonlySet<string>>(new Set());
  const taking = async (call: Promise<Interaction>) => {
    try {
      inbox.learn(await call);
      setProblem(null);
    } catch (error) {
      setProblem(`Not put off: ${reasonOf(error)}`);
    }
  };
  const putOff = (asks: Interaction[], until = laters(new Date())[0]?.until ?? new Date()) => {
    for (const { request } of asks) {
      const { promptId, interactionId } = request;
      setGoing((before) => new Set(before).add(promptId));
      void taking(gateway.snooze(interactionId, { promptId, until: until.toISOString() })).finally(() =>
        setGoing((before) => new Set([...before].filter((one) => one !== promptId))),
      );
    }
  };
  return {
    problem,
    isGoing: (ask: Interaction) => going.has(ask.request.promptId),
    putOff,
    takeUp: (ask: Interaction) => void taking(gateway.unsnooze(ask.request.interactionId)),
  };
}
