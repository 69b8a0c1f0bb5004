import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef, useState } from "react";
import { clock } from "../text/time";
import { Scrollable } from "../ui/Scrollable";
import type { SessionView } from "./feed";
import { ItemView } from "./items";
import type { Item } from "./transcript";

/** Near enough to the end to be carried along. */
const AT_END = 120;

interface Props {
  view: SessionView;
  cwd: string | null;
  /** An event that somebody looked for: its place is shown instead of the end. */
  found: number | null;
}

/** Calls stand close together below the words that explain them; what else begins has room. */
function room(item: Item, before: Item | undefined): string {
  if (before === undefined) return "";
  if (item.kind === "tool") return before.kind === "tool" ? "" : "pt-1.5";
  return item.kind === "note" && before.kind === "note" ? "pt-1" : "pt-4";
}

/** What was said and done. Only what is in sight is in the page: fifty thousand events scroll like fifty. */
export function TranscriptView({ view, cwd, found }: Props) {
  const { items, agent } = view.transcript;
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const toggle = useCallback(
    (key: number) =>
      setOpened((before) =>
        before.has(key) ? new Set([...before].filter((one) => one !== key)) : new Set([...before, key]),
      ),
    [],
  );
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: (at) => (items[at]?.kind === "tool" ? 26 : 64),
    getItemKey: (at) => items[at]?.key ?? at,
    paddingStart: 24,
    paddingEnd: 24,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END,
  });
  const started = items.length > 0;
  const isReady = view.ready;
  // The item that the event is part of began with it or before it.
  const foundAt = found === null || !isReady ? -1 : items.findLastIndex((item) => item.key <= found);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is there
  useEffect(() => {
    if (foundAt >= 0) rows.scrollToIndex(foundAt, { align: "center" });
  }, [found, isReady]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the first items are there
  useEffect(() => {
    if (started && found === null) rows.scrollToEnd();
  }, [started]);
  // When the dock grows, the end stays in sight for those who were there.
  useEffect(() => {
    const box = scroll.current;
    if (!box) return;
    let wasAtEnd = found === null;
    const onScroll = () => {
      wasAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight <= AT_END;
    };
    const sized = new ResizeObserver(() => wasAtEnd && rows.scrollToEnd());
    // Before the rows change for the new place: measuring after that would lay the page out once more in every frame.
    const first = { capture: true, passive: true };
    box.addEventListener("scroll", onScroll, first);
    sized.observe(box);
    return () => {
      box.removeEventListener("scroll", onScroll, first);
      sized.disconnect();
    };
  }, [rows, found]);
  return (
    <Scrollable
      ref={scroll}
      label="Transcript"
      className="min-h-0 flex-1 overflow-y-auto pr-6 [overflow-anchor:none] focus-visible:-outline-offset-2 max-wide:px-4"
    >
      {view.gap && (
        <p className="max-w-[720px] pt-4 pl-[72px] text-xs text-ink-2 max-wide:pl-0">
          What came before is no longer kept here.
        </p>
      )}
      <div className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const item = items[row.index];
          if (!item) return null;
          const before = items[row.index - 1];
          // In the margin, and not part of what was said.
          const time = clock(item.at);
          const isNewMinute = before === undefined || clock(before.at) !== time;
          return (
            <div
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              data-time={isNewMinute ? time : ""}
              className={`absolute top-0 left-0 grid w-full grid-cols-[72px_minmax(0,720px)] items-baseline before:pr-4 before:text-right before:font-mono before:text-xs before:text-ink-3 before:content-[attr(data-time)] max-wide:grid-cols-[minmax(0,1fr)] max-wide:before:hidden ${room(item, before)} ${row.index === foundAt ? "bg-pending-bg" : ""}`}
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <ItemView
                item={item}
                live={row.index === items.length - 1 && agent === "running"}
                cwd={cwd}
                isOpen={opened.has(item.key)}
                onToggle={toggle}
              />
            </div>
          );
        })}
      </div>
    </Scrollable>
  );
}
