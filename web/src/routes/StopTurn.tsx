import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { gateway } from "../api/gateway";
import { count, headline } from "../interactions/words";
import { waitingAsks } from "../session/inbox";
import { useInbox } from "../session/live";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

/** Stops the turn; the session stays. Where that cancels asks it says which, and asks first. */
export function StopTurn({ sessionId }: { sessionId: string }) {
  const [isOpen, setOpen] = useState(false);
  const asks = waitingAsks(useInbox(), sessionId);
  const stop = useMutation({ mutationFn: () => gateway.interrupt(sessionId), onSettled: () => setOpen(false) });
  return (
    <>
      <span role="alert" className="text-xs text-denied empty:hidden">
        {stop.error && `Not stopped: ${stop.error.message}`}
      </span>
      <Button
        title="Ends the turn. The session stays."
        disabled={stop.isPending}
        onClick={() => (asks.length > 0 ? setOpen(true) : stop.mutate())}
      >
        Stop
      </Button>
      <Dialog title="Stop this turn?" open={isOpen && asks.length > 0} onClose={() => setOpen(false)}>
        <p>
          {asks.length === 1 ? "This ask is" : `These ${asks.length} asks are`} cancelled, and nothing of it runs. You
          cannot bring {asks.length === 1 ? "it" : "them"} back; the session stays.
        </p>
        <ul className="grid gap-1 pt-3">
          {asks.map((ask) => (
            <li key={ask.request.interactionId} className="truncate bg-block px-2 py-1 font-mono text-xs">
              {headline(ask.request, "row")}
            </li>
          ))}
        </ul>
        <div className="flex flex-wrap gap-2 pt-4">
          <Button look="solid" disabled={stop.isPending} onClick={() => stop.mutate()}>
            Stop and cancel {count(asks.length, "ask")}
          </Button>
          <Button onClick={() => setOpen(false)}>Let it go on</Button>
        </div>
      </Dialog>
    </>
  );
}
