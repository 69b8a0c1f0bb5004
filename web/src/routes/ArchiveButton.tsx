import { useMutation, useQueryClient } from "@tanstack/react-query";
import { gateway } from "../api/gateway";
import type { Session } from "../api/generated";
import { need } from "../session/groups";
import { SESSIONS } from "../session/live";
import { Button } from "../ui/Button";

interface Props {
  session: Session;
  className?: string;
}

/** Out of the way, or back. What waits or works is not offered: the gateway would refuse it. */
export function ArchiveButton({ session, className = "" }: Props) {
  const queries = useQueryClient();
  const { sessionId, archived } = session;
  const move = useMutation({
    mutationFn: () => (archived ? gateway.unarchive(sessionId) : gateway.archive(sessionId)),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: SESSIONS }),
        queries.invalidateQueries({ queryKey: ["session", sessionId] }),
      ]),
  });
  const now = need(session, Date.now());
  if (!archived && (now === "waiting" || now === "working")) return null;
  return (
    <>
      <Button
        look="quiet"
        size="small"
        className={className}
        disabled={move.isPending}
        title={archived ? "Back among the others" : "Out of the lists. A new message brings it back."}
        onClick={() => move.mutate()}
      >
        {archived ? "Bring back" : "Archive"}
      </Button>
      {move.error && (
        <span role="alert" className="text-xs text-denied">
          {move.error.message}
        </span>
      )}
    </>
  );
}
