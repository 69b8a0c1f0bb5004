import { useEffect, useState } from "react";
import { change, useSettings } from "../session/settings";
import { Button } from "../ui/Button";
import { ANSWERED } from "./desk";
import { askToNotify, canNotify } from "./notify";

/** Offered once, after the first answer: by then a person knows what for. */
export function OfferToNotify() {
  const { notify } = useSettings();
  const [answered, setAnswered] = useState(false);
  useEffect(() => {
    const onAnswered = () => setAnswered(true);
    window.addEventListener(ANSWERED, onAnswered);
    return () => window.removeEventListener(ANSWERED, onAnswered);
  }, []);
  if (!answered || notify !== "unasked" || !canNotify()) return null;
  return (
    <aside className="enter fixed top-3 right-4 z-10 flex max-w-[420px] flex-wrap items-center gap-2 border-y border-r border-y-line border-r-line bg-surface p-3 railed max-wide:inset-x-4">
      <p className="min-w-0 flex-[1_1_180px]">Shall this browser tell you when something new waits?</p>
      <Button size="small" look="solid" onClick={() => void askToNotify()}>
        Notify me
      </Button>
      <Button size="small" look="quiet" onClick={() => change({ notify: "off" })}>
        No
      </Button>
    </aside>
  );
}
