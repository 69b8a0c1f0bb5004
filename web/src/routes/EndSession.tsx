import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { gateway } from "../api/gateway";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

/** Ends a session for good, after asking once. */
export function EndSession({ sessionId }: { sessionId: string }) {
  const [isOpen, setOpen] = useState(false);
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => gateway.end(sessionId),
    onSuccess: () => {
      setOpen(false);
      return queries.invalidateQueries();
    },
  });
  return (
    <>
      <Button look="quiet" size="small" onClick={() => setOpen(true)}>
        End session
      </Button>
      <Dialog title="End this session?" open={isOpen} onClose={() => setOpen(false)}>
        <p>
          Its agent stops, its open asks are cancelled, and what was remembered for it is forgotten. The transcript
          stays.
        </p>
        <p role="alert" className="pt-2 text-denied empty:hidden">
          {end.error && `Not ended: ${end.error.message}`}
        </p>
        <div className="flex gap-2 pt-4">
          <Button look="solid" disabled={end.isPending} onClick={() => end.mutate()}>
            End it
          </Button>
          <Button onClick={() => setOpen(false)}>Let it go on</Button>
        </div>
      </Dialog>
    </>
  );
}
