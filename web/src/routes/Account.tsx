import { Switch } from "@base-ui/react/switch";
import { type ReactNode, useId, useState } from "react";
import { useDesk } from "../interactions/transport";
import { useLive } from "../session/live";
import { change, useSettings } from "../session/settings";
import { Shown } from "../text/Shown";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Devices } from "./Devices";
import { askToNotify } from "./notify";

/** Who is here, and how this screen behaves. */
export function Account() {
  const { me } = useLive();
  const { mode, setMode, mayAnswer } = useDesk();
  const [isOpen, setOpen] = useState(false);
  return (
    <footer className="grid gap-1 border-t border-line py-2 text-xs text-ink-2">
      {mayAnswer && (
        <Toggle on={mode === "on"} onChange={(on) => setMode(on ? "on" : "off")}>
          Interactive mode
        </Toggle>
      )}
      <div className="flex items-center gap-1">
        <span className="min-w-0 flex-1 truncate">
          <Shown text={me.name} />
        </span>
        <Button look="quiet" size="small" onClick={() => setOpen(true)}>
          Settings
        </Button>
      </div>
      <Dialog title="Settings" open={isOpen} onClose={() => setOpen(false)}>
        <Settings />
      </Dialog>
    </footer>
  );
}

function Settings() {
  const { sendOnPick, notify } = useSettings();
  const { me } = useLive();
  return (
    <div className="grid gap-3">
      <Toggle on={sendOnPick} onChange={(on) => change({ sendOnPick: on })}>
        Send at once when a single question with one choice is answered
      </Toggle>
      <Toggle on={notify === "on"} onChange={(on) => (on ? void askToNotify() : change({ notify: "off" }))}>
        Notify me when something new waits
      </Toggle>
      <p className="text-xs text-ink-2">Holdstead {me.version}. These settings belong to this browser.</p>
      <Devices />
    </div>
  );
}

function Toggle({ on, onChange, children }: { on: boolean; onChange: (on: boolean) => void; children: ReactNode }) {
  const id = useId();
  return (
    <div className="flex min-h-9 items-center justify-between gap-3 max-wide:min-h-11">
      <label htmlFor={id} className="min-w-0 flex-1">
        {children}
      </label>
      <Switch.Root
        id={id}
        checked={on}
        onCheckedChange={onChange}
        className="flex h-5 w-9 shrink-0 items-center rounded-full border border-ink-2 bg-surface px-0.5 data-checked:bg-ink"
      >
        <Switch.Thumb className="size-3.5 rounded-full bg-ink-2 data-checked:translate-x-4 data-checked:bg-surface" />
      </Switch.Root>
    </div>
  );
}
