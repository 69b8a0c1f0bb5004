import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { gateway } from "../api/gateway";
import type { Session } from "../api/generated";
import { count } from "../interactions/words";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ArchiveButton } from "./ArchiveButton";

interface Props {
  session: Session;
  /** It can still be ended, by this person. */
  goesOn: boolean;
  /** This person may put it away. */
  mayArchive: boolean;
  facts: ReactNode;
}

/** What is seldom wanted of a session. On a narrow screen it stands behind one button, away from Stop and from closing. */
export function SessionMenu({ session, goesOn, mayArchive, facts }: Props) {
  const [open, setOpen] = useState<"details" | "end" | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <Button look="quiet" className="desk:hidden" onClick={() => setOpen("details")}>
        Details
      </Button>
      {mayArchive && <ArchiveButton session={session} className="max-desk:hidden" />}
      {goesOn && (
        <Button look="quiet" className="max-desk:hidden" onClick={() => setOpen("end")}>
          End session…
        </Button>
      )}
      <Dialog title="This session" open={open === "details"} onClose={close}>
        {facts}
        <div className="flex gap-2 pt-5">
          {mayArchive && <ArchiveButton session={session} />}
          {goesOn && <Button onClick={() => setOpen("end")}>End session…</Button>}
        </div>
      </Dialog>
      <Dialog title="End this session?" open={open === "end"} onClose={close}>
        <EndIt session={session} onClose={close} />
      </Dialog>
    </>
  );
}

/** Ends a session for good, after saying what that costs. */
function EndIt({ session: { sessionId, openAsks, inTerminal }, onClose }: { session: Session; onClose: () => void }) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => gateway.end(sessionId),
    onSuccess: () => {
      onClose();
      return queries.invalidateQueries();
    },
  });
  return (
    <>
      <p>
        {inTerminal ? "This session no longer shows the program in the terminal" : "Its agent stops"}
        {openAsks > 0 && `, ${count(openAsks, "open ask")} ${openAsks === 1 ? "is" : "are"} cancelled`}, and what was
        remembered for it is forgotten. The transcript stays.
        {inTerminal && " The program goes on: its next step appears in a new session."}
      </p>
      <p role="alert" className="pt-2 text-denied empty:hidden">
        {end.error && `Not ended: ${end.error.message}`}
      </p>
      <div className="flex gap-2 pt-4">
        <Button look="solid" disabled={end.isPending} onClick={() => end.mutate()}>
          End it
        </Button>
        <Button onClick={onClose}>Let it go on</Button>
      </div>
    </>
  );
}
