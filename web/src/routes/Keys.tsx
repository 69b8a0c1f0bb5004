import { useEffect, useState } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Kbd } from "../ui/Kbd";

const KEYS: { where: string; keys: [string[], string][] }[] = [
  {
    where: "On a card",
    keys: [
      [["Ctrl", "Enter"], "approve, or send, and go on to the next"],
      [["A"], "go to Approve; Enter presses it. The only way for what is marked, and for many at once"],
      [["D"], "deny or decline, with a reason"],
      [["E"], "edit before approving"],
      [["R"], "remember the approval"],
      [["N"], "not now"],
      [["S"], "alike asks: one by one"],
      [["Space"], "unfold a long input"],
      [["1", "…", "9"], "choose an option"],
      [["W"], "the card has the whole screen"],
      [["O"], "its session"],
      [["Esc"], "back; decides nothing"],
    ],
  },
  {
    where: "Anywhere",
    keys: [
      [["J"], "the next ask"],
      [["K"], "the previous ask"],
      [["I"], "the inbox"],
      [["C"], "write to the agent"],
      [["Ctrl", "K"], "find anything, go anywhere; so does /"],
      [["?"], "this list"],
    ],
  },
];

/** What the keys do, behind `?`. */
export function Keys() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "?" && !isTyping(event.target)) setOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <Button look="quiet" size="small" aria-label="Keys" title="Keys (?)" onClick={() => setOpen(true)}>
        ?
      </Button>
      <Dialog title="Keys" open={isOpen} onClose={() => setOpen(false)}>
        {KEYS.map(({ where, keys }) => (
          <section key={where} className="mb-4">
            <h3 className="mb-1 text-xs font-semibold text-ink-2">{where}</h3>
            <dl className="grid grid-cols-[88px_minmax(0,1fr)] gap-x-4 gap-y-1">
              {keys.map(([names, does]) => (
                <div key={does} className="contents">
                  <dt className="flex items-start gap-1">
                    {names.map((name) => (name === "…" ? <span key={name}>…</span> : <Kbd key={name}>{name}</Kbd>))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </Dialog>
    </>
  );
}

/** Letters belong to whoever types, and to a dialog that is open. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest("textarea, select, input:not([type=radio]):not([type=checkbox]), [role=dialog]") !== null;
