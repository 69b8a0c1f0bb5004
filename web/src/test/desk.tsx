// A desk for cards without a gateway: what was sent is kept, what comes back is given.

import { type ReactNode, useState } from "react";
import type { Interaction, Receipt, Respond } from "../api/generated";
import { AskCard, type CardPlace } from "../interactions/AskCard";
import { type AnswerDesk, AnswerProvider } from "../interactions/transport";

export const session = (state: "waiting" | "ended" = "waiting") => ({
  sessionId: "ses_1",
  agent: "scripted",
  title: "shop-api",
  cwd: "/Users/ana/code/shop-api",
  permissionMode: "default" as const,
  seq: 1,
  state,
  openAsks: 1,
  interactiveClients: 1,
  enabledClients: 1,
  openedAt: "2026-01-31T14:00:00Z",
  changedAt: "2026-01-31T14:00:00Z",
});

export interface Fake {
  desk: AnswerDesk;
  sent: Respond[];
  said: string[];
  learned: Interaction[];
}

const receipt = (body: Respond): Receipt => ({
  interactionId: "int_1",
  promptId: body.promptId,
  sessionId: "ses_1",
  seq: 2,
  at: "2026-01-31T14:02:00Z",
  state: "settled",
  settlement: "approved",
});

/** @param respond what the gateway does with an answer; without it, it takes it */
export function fakeDesk(
  change: Partial<AnswerDesk> = {},
  respond: (body: Respond) => Promise<Receipt> = async (body) => receipt(body),
): Fake {
  const fake: Fake = {
    sent: [],
    said: [],
    learned: [],
    desk: {
      transport: {
        respond: (_id, body) => {
          fake.sent.push(body);
          return respond(body);
        },
        respondMany: async ({ answers }) => {
          fake.sent.push(...answers);
          return {
            results: answers.map((one) => ({
              outcome: "taken" as const,
              receipt: { ...receipt(one), interactionId: one.interactionId },
            })),
          };
        },
        interaction: () => Promise.reject(new Error("not asked for")),
        interrupt: async () => ({ cancelled: [] }),
        trustFolder: async () => {},
        say: async (_session, text) => {
          fake.said.push(text);
          return { turnId: "trn_2", messageId: "msg_2", seq: 9 };
        },
      },
      me: "ana",
      mayAnswer: true,
      mode: "on",
      setMode: () => {},
      sendOnPick: false,
      session: () => session(),
      learn: (ask) => fake.learned.push(ask),
      ...change,
    },
  };
  return fake;
}

export const nowhere: CardPlace = { at: 1, of: 1, onMove: () => {}, onLeave: () => {}, onNotNow: () => {} };

/** A card on a desk, whose mode can be switched. */
export function OnDesk({ fake, ask, place = nowhere }: { fake: Fake; ask: Interaction; place?: CardPlace }): ReactNode {
  const [mode, setMode] = useState(fake.desk.mode);
  return (
    <AnswerProvider value={{ ...fake.desk, mode, setMode }}>
      <AskCard ask={ask} place={place} />
    </AnswerProvider>
  );
}
