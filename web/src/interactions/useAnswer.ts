// Sending an answer, and what becomes of it.

import { useRef, useState } from "react";
import type { Interaction, ResponseDraft } from "../api/generated";
import { Problem } from "../api/problem";
import { randomName } from "../api/random";
import { forgetDraft } from "../session/drafts";
import { useDesk } from "./transport";
import { lost, sentLate } from "./words";

export type Phase =
  | { at: "editing" }
  | { at: "sending" }
  /** It may or may not have arrived; sending it again counts once. */
  | { at: "uncertain"; words: string; retry: () => void }
  /** It was not taken, and why. The person can go on. */
  | { at: "refused"; words: string }
  /** Somebody was faster. */
  | { at: "lost"; words: string }
  | { at: "late"; words: string };

export interface Answering {
  phase: Phase;
  fieldErrors: Record<string, string>;
  /** An answer from this card was taken. */
  taken: boolean;
  /** @param after also stop the turn, once the answer is in */
  send: (response: ResponseDraft, after?: "stop") => void;
  /** What was said has been read. */
  dismiss: () => void;
}

export const draftName = (promptId: string): string => `ask:${promptId}`;

export function useAnswer(ask: Interaction, isInert: () => boolean, onTaken?: () => void): Answering {
  const { transport, me, learn, onAnswered } = useDesk();
  const [phase, setPhase] = useState<Phase>({ at: "editing" });
  const [taken, setTaken] = useState(false);
  const [fieldErrors, setFieldErrors] = useState<Record<string, string>>({});
  /** What was sent last, and its key: sending the same again counts once. */
  const attempt = useRef({ body: "", key: "" });
  const sending = useRef(false);
  const { interactionId, promptId } = ask.request;

  const refresh = () =>
    transport.interaction(interactionId).then(learn, () => {
      // The stream brings it, too.
    });

  const deliver = async (response: ResponseDraft, drawing: number, after?: "stop") => {
    const body = JSON.stringify({ promptId, ...response });
    if (attempt.current.body !== body) attempt.current = { body, key: randomName() };
    const clickedAt = Date.now();
    try {
      const answer = { promptId, idempotencyKey: attempt.current.key, ...response };
      const receipt = await transport.respond(interactionId, answer).finally(() => {
        cancelAnimationFrame(drawing);
        setFieldErrors({});
      });
      forgetDraft(draftName(promptId));
      setTaken(true);
      onAnswered?.();
      setPhase(receipt.late ? { at: "late", words: sentLate(ask.request) } : { at: "editing" });
      let isDone = !receipt.late;
      if (after === "stop") {
        await transport.interrupt(ask.sessionId).catch(() => {
          isDone = false;
          setPhase({ at: "refused", words: "Denied. The turn could not be stopped: try Stop in its session." });
        });
      }
      if (isDone) onTaken?.();
      await refresh();
    } catch (error) {
      await explain(error, clickedAt, () => send(response, after));
    }
  };

  const explain = async (error: unknown, clickedAt: number, retry: () => void) => {
    const problem = error instanceof Problem ? error : Problem.network();
    const { message, code, winner } = problem;
    if (problem.isUncertain) {
      const words = `${message} It is not known whether your answer arrived. Sending it again is safe: it counts once.`;
      setPhase({ at: "uncertain", words, retry });
    } else if (code === "already_answered" && winner) {
      setPhase({ at: "lost", words: lost(winner, me, clickedAt) });
    } else if (code === "stale_prompt") {
      setPhase({
        at: "refused",
        words: "It was asked again meanwhile. Your text is kept: check it and send it again.",
      });
    } else if (Object.keys(problem.fieldErrors).length > 0) {
      setFieldErrors(problem.fieldErrors);
      setPhase({ at: "refused", words: "Not sent yet: see what is marked." });
    } else {
      setPhase({ at: "refused", words: `Not sent. ${message}` });
    }
    if (code === "already_answered" || code === "stale_prompt" || code === "closed") await refresh();
  };

  const send = (response: ResponseDraft, after?: "stop") => {
    if (sending.current || isInert()) return;
    sending.current = true;
    // Drawing keeps the page busy, and the request would wait to be signed.
    const drawing = requestAnimationFrame(() => setPhase({ at: "sending" }));
    void deliver(response, drawing, after).finally(() => {
      sending.current = false;
    });
  };

  return { phase, fieldErrors, taken, send, dismiss: () => setPhase({ at: "editing" }) };
}
