import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useDesk } from "../interactions/transport";
import { useLive } from "../session/live";
import { change, type Theme, useSettings } from "../session/settings";
import { Shown } from "../text/Shown";
import { Toggle } from "../ui/Toggle";
import { Devices } from "./Devices";
import { askToNotify, canNotify } from "./notify";
import { PairPhone } from "./PairPhone";
import { Passkeys } from "./Passkeys";

/** Who is here, and how this browser behaves. */
export function YouPage() {
  const { me } = useLive();
  return (
    <main className="h-full overflow-y-auto bg-surface px-10 pb-10 max-wide:px-4">
      <div className="grid max-w-[640px] gap-6">
        <h1 className="flex min-h-14 items-center text-lg font-semibold">
          {/* The name that whoever set it up has until they take another. */}
          {me.name === "you" ? "You" : <Shown text={me.name} />}
        </h1>
        <Link to="/rules" className="w-fit underline underline-offset-2 wide:hidden">
          Rules
        </Link>
        <Part title="This browser">
          <ThisBrowser />
        </Part>
        <Part title="Where you are logged in">
          <Devices />
        </Part>
        {me.role !== "viewer" && (
          <Part title="Passkeys">
            <Passkeys />
          </Part>
        )}
        <Part title="Phone">
          <PairPhone />
        </Part>
        <p className="text-xs text-ink-3">
          Holdstead {me.version} at {location.host}
        </p>
      </div>
    </main>
  );
}

export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="border-b border-line pb-1.5 text-xs font-semibold text-ink-2">{title}</h2>
      {children}
    </section>
  );
}

function ThisBrowser() {
  const { mode, setMode, mayAnswer } = useDesk();
  const { sendOnPick, notify } = useSettings();
  return (
    <div className="divide-y divide-line border-b border-line">
      {mayAnswer ? (
        <Toggle
          on={mode === "on"}
          onChange={(on) => setMode(on ? "on" : "off")}
          hint="Off: this browser shows asks and does not answer them."
        >
          Answers here
        </Toggle>
      ) : (
        <p className="py-2 text-ink-2">You may look at sessions here, and not answer.</p>
      )}
      <ThemeChoice />
      <Toggle
        on={notify === "on"}
        onChange={(on) => (on ? void askToNotify() : change({ notify: "off" }))}
        hint={canNotify() ? "While you look elsewhere." : "The browser does not allow it for this page."}
      >
        Notify me about new asks
      </Toggle>
      {mayAnswer && (
        <Toggle
          on={sendOnPick}
          onChange={(on) => change({ sendOnPick: on })}
          hint="Where one question with one choice is asked."
        >
          Send an answer as soon as it is chosen
        </Toggle>
      )}
    </div>
  );
}

const THEMES: { value: Theme; name: string }[] = [
  { value: "system", name: "System" },
  { value: "light", name: "Light" },
  { value: "dark", name: "Dark" },
];

function ThemeChoice() {
  const { theme } = useSettings();
  return (
    <fieldset className="flex min-h-11 items-center justify-between gap-3 py-1.5">
      <legend className="float-left">Theme</legend>
      <div className="tag flex overflow-hidden border border-line-2">
        {THEMES.map(({ value, name }) => (
          <label
            key={value}
            className="flex min-h-8 cursor-pointer items-center border-line-2 px-3 text-xs font-medium not-first:border-l has-checked:bg-ink has-checked:text-on-ink has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-focus max-wide:min-h-11"
          >
            <input
              type="radio"
              name="theme"
              className="sr-only"
              checked={theme === value}
              onChange={() => change({ theme: value })}
            />
            {name}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
