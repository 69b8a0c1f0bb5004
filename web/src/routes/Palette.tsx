import { Dialog as Base } from "@base-ui/react/dialog";
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from "react";
import { Icon } from "../ui/Icon";
import { isTyping } from "./Keys";
import { meant } from "./matching";
import { type Entry, useEntries, useFound } from "./paletteEntries";
import { show, useSheet } from "./sheet";

const MOST_OF_A_KIND = 6;

/** Ctrl-K or `/`: goes anywhere, finds anything, starts things. It never answers an ask. */
export function Palette() {
  const isOpen = useSheet() === "palette";
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      const isChord = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
      const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !isTyping(event.target);
      if ((!isChord && !isSlash) || event.defaultPrevented || event.repeat) return;
      event.preventDefault();
      show("palette");
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const box = useRef<HTMLInputElement>(null);
  return (
    <Base.Root open={isOpen} onOpenChange={(next) => !next && show(null)}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-10 bg-black/40" />
        <Base.Popup
          initialFocus={box}
          className="enter tag fixed inset-x-0 top-[10dvh] z-20 mx-auto flex max-h-[76dvh] w-[calc(100%-32px)] max-w-[640px] flex-col border border-line bg-surface max-wide:top-2"
        >
          <Base.Title className="sr-only">Go to, find or start</Base.Title>
          <Finder box={box} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Finder({ box }: { box: RefObject<HTMLInputElement | null> }) {
  const list = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const known = useEntries();
  const found = useFound(typed);
  const groups = [...new Set(known.map((entry) => entry.group))].map((group) => ({
    group,
    entries: meant(
      known.filter((entry) => entry.group === group),
      typed,
      (entry) => `${entry.name} ${entry.more ?? ""}`,
      MOST_OF_A_KIND,
    ),
  }));
  const atHand = new Set(groups.flatMap(({ entries }) => entries.map(({ key }) => key)));
  const news = found.entries.filter(({ key }) => !atHand.has(key));
  for (const group of new Set(news.map((entry) => entry.group)))
    groups.push({ group, entries: news.filter((entry) => entry.group === group) });
  const shown = groups.flatMap(({ entries }) => entries);
  const chosen = Math.min(at, Math.max(0, shown.length - 1));
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    show(null);
    entry.go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowDown") setAt((chosen + 1) % Math.max(1, shown.length));
    else if (event.key === "ArrowUp") setAt((chosen - 1 + shown.length) % Math.max(1, shown.length));
    else if (event.key === "Enter" && !event.repeat) choose(shown[chosen]);
    else return;
    event.preventDefault();
  };
  const option = (index: number) => `${list}-${index}`;
  useEffect(() => {
    document.getElementById(`${list}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [list, chosen]);
  let index = -1;
  return (
    <>
      <div className="flex items-center gap-2 border-b border-line px-4">
        <Icon name="find" className="size-4 text-ink-3" />
        <input
          ref={box}
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={shown.length > 0 ? option(chosen) : undefined}
          aria-label="Go to, find or start"
          placeholder="Go to a session, find a command, start something"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
          className="min-h-13 w-full bg-transparent text-base outline-none"
        />
      </div>
      <div id={list} role="listbox" aria-label="What is meant" className="min-h-0 overflow-y-auto pb-2">
        {groups.map(
          ({ group, entries }) =>
            entries.length > 0 && (
              // biome-ignore lint/a11y/useSemanticElements: options of a listbox are grouped by role
              <div key={group} role="group" aria-label={group}>
                <p aria-hidden="true" className="px-4 pt-3 pb-1 text-xs font-semibold text-ink-2">
                  {group}
                </p>
                {entries.map((entry) => {
                  index += 1;
                  const own = index;
                  return (
                    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the box's
                    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the box
                    <div
                      key={entry.key}
                      id={option(own)}
                      role="option"
                      aria-selected={own === chosen}
                      onClick={() => choose(entry)}
                      onMouseMove={() => own !== chosen && setAt(own)}
                      className="grid min-h-9 cursor-pointer grid-cols-[16px_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-1 aria-selected:bg-block aria-selected:font-medium max-wide:min-h-11"
                    >
                      <Icon name={entry.icon} className="size-4 text-ink-3" />
                      <span className={`truncate ${entry.isCode ? "font-mono text-mono" : ""}`}>{entry.name}</span>
                      <span className="max-w-48 truncate text-xs font-normal text-ink-3">{entry.more}</span>
                    </div>
                  );
                })}
              </div>
            ),
        )}
      </div>
      <p role="status" className="px-4 text-ink-2 not-empty:py-3">
        {found.problem ??
          (shown.length === 0 && (found.isLooking ? "Looking…" : `Nothing has “${typed.trim()}” in it.`))}
      </p>
    </>
  );
}
