import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { gateway } from "../api/gateway";
import type { InteractionMode } from "../api/generated";
import type { AnswerDesk } from "../interactions/transport";
import { type Live, mayAnswer, SESSIONS, useSessions } from "../session/live";
import { change, settings, useSettings } from "../session/settings";

/** Told to the page when a person's answer was taken. */
export const ANSWERED = "holdstead:answered";

/** The desk that cards answer on: the real gateway. */
export function useGatewayDesk({ me, inbox, client }: Live): AnswerDesk {
  const { interaction, sendOnPick } = useSettings();
  const sessions = useSessions();
  const queries = useQueryClient();
  return useMemo(
    () => ({
      transport: {
        respond: (id, body) => gateway.respond(id, body, settings().interaction),
        respondMany: (body) => gateway.respondMany(body, settings().interaction),
        interaction: gateway.interaction,
        interrupt: gateway.interrupt,
        say: gateway.say,
        trustFolder: gateway.trustRepository,
      },
      me: me.name,
      mayAnswer: mayAnswer(me),
      mode: interaction,
      setMode: (mode: InteractionMode) => {
        change({ interaction: mode });
        // The streams that are open count this client by it; a new one says it anyway.
        gateway.setMode(client, mode).then(
          () => queries.invalidateQueries({ queryKey: SESSIONS }),
          () => {},
        );
      },
      sendOnPick,
      session: (id: string) => sessions.find((one) => one.sessionId === id) ?? null,
      learn: inbox.learn,
      onAnswered: () => window.dispatchEvent(new Event(ANSWERED)),
    }),
    [me, inbox, client, interaction, sendOnPick, sessions, queries],
  );
}
