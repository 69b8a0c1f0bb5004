// Sending one answer to several asks: each has its own prompt, key and receipt.

import { useRef, useState } from "react";
import type { Interaction, ResponseDraft } from "../api/generated";
import { Problem } from "../api/problem";
import { randomName } from "../api/random";
import { useDesk } from "./transport";
import type { Phase } from "./useAnswer";
import { count } from "./words";

export function useAnswerMany(asks: Interaction[], isInert: () => boolean, onAnswered: (ids: string[]) => void) {
  const { transport, learn, onAnswered: tell } = useDesk();
  const [phase, setPhase] = useState<Phase>({ at: "editing" });
  const sending = useRef(false);
  /** The keys of what was sent: sending the same again counts once. */
  const keys = useRef(new Map<string, string>());

  const deliver = async (response: ResponseDraft) => {
    const answers = asks.map(({ request }) => {
      const name = `${request.promptId} ${JSON.stringify(response)}`;
      const key = keys.current.get(name) ?? randomName();
      keys.current.set(name, key);
      return {
        ...response,
        interactionId: request.interactionId,
        promptId: request.promptId,
        idempotencyKey: key,
      };
    });
    try {
      const { results } = await transport.respondMany({ answers });
      const refused = results.flatMap((one) => (one.outcome === "refused" ? [one] : []));
      const taken = results.flatMap((one) => (one.outcome === "taken" ? [one.receipt.interactionId] : []));
      tell?.();
      if (refused.length > 0) {
        const words = [...new Set(refused.map((one) => one.problem.detail))].join(" ");
        setPhase({ at: "refused", words: `${count(refused.length, "answer")} not taken. ${words}` });
      } else {
        setPhase({ at: "editing" });
      }
      if (taken.length > 0 && refused.length === 0) onAnswered(taken);
      // The stream brings them, too.
      for (const { request } of asks) transport.interaction(request.interactionId).then(learn, () => {});
    } catch (error) {
      const { message } = error instanceof Problem ? error : Problem.network();
      const words = `${message} It is not known which of your answers arrived. Sending them again is safe: each counts once.`;
      setPhase({ at: "uncertain", words, retry: () => send(response) });
    }
  };
  const send = (response: ResponseDraft) => {
    if (sending.current || isInert()) return;
    sending.current = true;
    setPhase({ at: "sending" });
    void deliver(response).finally(() => {
      sending.current = false;
    });
  };
  return { phase, send, dismiss: () => setPhase({ at: "editing" }) };
}
