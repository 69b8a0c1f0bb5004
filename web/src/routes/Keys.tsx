import { useEffect, useState } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Kbd } from "../ui/Kbd";

const KEYS: { where: string; keys: [string[], string][] }[] = [
  {
    where: "On a card",
    keys: [
      [["A"], "go to Approve; Enter presses it"],
      [["D"], "deny or decline, with a reason"],
      [["E"], "edit the input before approving"],
      [["R"], "remember the approval"],
      [["1", "…", "9"], "pick an option"],
      [["Ctrl", "Enter"], "send answers, a form or a reason"],
      [["N"], "not now"],
      [["["], "previous ask"],
      [["]"], "the next ask"],
      [["Esc"], "leave it; decides nothing"],
    ],
  },
  {
    where: "Anywhere",
    keys: [
      [["I"], "the inbox"],
      [["J"], "the next row"],
      [["K"], "the row before"],
      [["C"], "write to the agent"],
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
            <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1">
              {keys.map(([names, does]) => (
                <div key={does} className="contents">
                  <dt className="flex gap-1">
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
