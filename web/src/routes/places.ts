// Where one can be, and how links to it look.

import { getRouteApi, useLocation } from "@tanstack/react-router";

const session = getRouteApi("/app/sessions/$sessionId");

/** An event of a session's transcript, as the end of its address: `#e128`. */
export const eventHash = (seq: number): string => `e${seq}`;

export function useSessionPlace(): { sessionId: string; askId: string | null; eventAt: number | null } {
  const { sessionId } = session.useParams();
  const { ask } = session.useSearch();
  const seq = useLocation({ select: ({ hash }) => /^e(\d{1,15})$/.exec(hash)?.[1] });
  return { sessionId, askId: ask ?? null, eventAt: seq === undefined ? null : Number(seq) };
}
