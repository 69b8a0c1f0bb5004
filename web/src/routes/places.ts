// Where one can be, and how links to it look.

import { getRouteApi } from "@tanstack/react-router";

const session = getRouteApi("/app/sessions/$sessionId");

export function useSessionPlace(): { sessionId: string; askId: string | null } {
  const { sessionId } = session.useParams();
  const { ask } = session.useSearch();
  return { sessionId, askId: ask ?? null };
}
