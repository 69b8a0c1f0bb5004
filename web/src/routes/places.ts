// Where one can be, and how links to it look.

import { getRouteApi, useLocation } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";

const session = getRouteApi("/app/sessions/$sessionId");

/** An event of a session's transcript, as the end of its address: `#e128`. */
export const eventHash = (seq: number): string => `e${seq}`;

export function useSessionPlace(): { sessionId: string; askId: string | null; eventAt: number | null } {
  const { sessionId } = session.useParams();
  const { ask } = session.useSearch();
  const seq = useLocation({ select: ({ hash }) => /^e(\d{1,15})$/.exec(hash)?.[1] });
  return { sessionId, askId: ask ?? null, eventAt: seq === undefined ? null : Number(seq) };
}

const inbox = getRouteApi("/app/");

/** The ask that is selected on the desk, and whether its card has the whole screen. */
export function useInboxPlace(): { askId: string | null; wide: boolean } {
  const { ask, wide } = inbox.useSearch();
  return { askId: ask ?? null, wide: wide === true };
}

const narrow = matchMedia("(max-width: 899.98px)");
const onWidth = (tell: () => void) => {
  narrow.addEventListener("change", tell);
  return () => narrow.removeEventListener("change", tell);
};

/** There is room for one thing at a time: the list, or a card. */
export const useIsPhone = (): boolean => useSyncExternalStore(onWidth, () => narrow.matches);
