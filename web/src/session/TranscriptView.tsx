import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Scrollable } from "../ui/Scrollable";
import type { SessionView } from "./feed";
import { ItemView } from "./items";

/** Near enough to the end to be carried along. */
const AT_END = 120;

/** What was said and done. Only what is in sight is in the page: fifty thousand events scroll like fifty. */
export function TranscriptView({ view }: { view: SessionView }) {
  const { items, agent } = view.transcript;
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 72,
    getItemKey: (at) => items[at]?.key ?? at,
    gap: 12,
    paddingStart: 16,
    paddingEnd: 16,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END,
  });
  const started = items.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the first items are there
  useEffect(() => {
    if (started) rows.scrollToEnd();
  }, [started]);
  // When the dock grows, the end stays in sight for those who were there.
  useEffect(() => {
    const box = scroll.current;
    if (!box) return;
    let wasAtEnd = true;
    const onScroll = () => {
      wasAtEnd = rows.isAtEnd(AT_END);
    };
    const sized = new ResizeObserver(() => wasAtEnd && rows.scrollToEnd());
    box.addEventListener("scroll", onScroll, { passive: true });
    sized.observe(box);
    return () => {
      box.removeEventListener("scroll", onScroll);
      sized.disconnect();
    };
  }, [rows]);
  return (
    <Scrollable
      ref={scroll}
      label="Transcript"
      className="min-h-0 flex-1 overflow-y-auto px-6 [overflow-anchor:none] focus-visible:-outline-offset-2 max-wide:px-4"
    >
      {view.gap && (
        <p className="mx-auto max-w-[720px] pt-4 text-xs text-ink-2">What came before is no longer kept here.</p>
      )}
      <div className="relative mx-auto max-w-[720px]" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const item = items[row.index];
          return (
            item && (
              <div
                key={row.key}
                ref={rows.measureElement}
                data-index={row.index}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${row.start}px)` }}
              >
                <ItemView item={item} live={row.index === items.length - 1 && agent === "running"} />
              </div>
            )
          );
        })}
      </div>
    </Scrollable>
  );
}
