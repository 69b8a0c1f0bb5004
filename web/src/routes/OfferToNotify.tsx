import { useEffect, useState } from "react";
import { change, useSettings } from "../session/settings";
import { Button } from "../ui/Button";
import { ANSWERED } from "./desk";
import { askToNotify, canNotify } from "./notify";

/** Offered once, after the first answer: by then a person knows what for. */
export function OfferToNotify({ fillsPhone }: { fillsPhone: boolean }) {
  const { notify } = useSettings();
  const [answered, setAnswered] = useState(false);
  useEffect(() => {
    const onAnswered = () => setAnswered(true);
    window.addEventListener(ANSWERED, onAnswered);
    return () => window.removeEventListener(ANSWERED, onAnswered);
  }, []);
  if (!answered || notify !== "unasked" || !canNotify()) return null;
  return (
    // Beside the sessions, where it covers nothing that somebody works with; on a phone it comes with the next list.
    <aside
      className={`enter fixed bottom-32 left-4 z-10 flex w-[248px] flex-wrap items-center gap-2 border-y border-r border-y-line border-r-line bg-surface p-3 railed desk:w-48 max-wide:inset-x-4 max-wide:top-3 max-wide:bottom-auto max-wide:w-auto ${fillsPhone ? "max-wide:hidden" : ""}`}
    >
      <p className="min-w-0 flex-[1_1_180px]">Notify you here about new asks?</p>
      <Button size="small" look="solid" onClick={() => void askToNotify()}>
        Notify me
      </Button>
      <Button size="small" look="quiet" onClick={() => change({ notify: "off" })}>
        No
      </Button>
    </aside>
  );
}
