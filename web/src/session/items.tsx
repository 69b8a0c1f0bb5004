// One item of a transcript each.

import { memo } from "react";
import { ReceiptLine } from "../interactions/Receipt";
import { asker } from "../interactions/words";
import { Markdown } from "../text/Markdown";
import { Shown } from "../text/Shown";
import { clock, took } from "../text/time";
import { visible } from "../text/visible";
import { Boundary } from "../ui/Boundary";
import { CallLine } from "./CallLine";
import type { Item } from "./transcript";

interface Props {
  item: Item;
  live: boolean;
  cwd: string | null;
  /** A person wants to see what is inside. */
  isOpen: boolean;
  onToggle: (key: number) => void;
}

/** An item that cannot be drawn says so, and the others stay. */
export const ItemView = memo(function ItemView(props: Props) {
  return (
    <Boundary
      fallback={(reason) => (
        <p className="railed tone-denied bg-denied-bg px-3 py-2 text-denied">This could not be shown: {reason}</p>
      )}
    >
      <Body {...props} />
    </Boundary>
  );
});

/** How a turn ended, and how long it took. A stop of which nobody knows who wanted it was a person's all the same. */
function ended({ reason, by, since, at }: Extract<Item, { kind: "done" }>): string {
  const after = since ? ` after ${took(Date.parse(at) - Date.parse(since))}` : "";
  return {
    completed: `Done${after}`,
    interrupted: `Stopped by ${by ? visible(by) : "a person"}${after}`,
    failed: `The turn failed${after}`,
  }[reason];
}

function From({ parents }: { parents: string[] }) {
  const [first, ...rest] = parents;
  if (first === undefined) return null;
  return <p className="mb-0.5 text-xs text-ink-2">{asker(first, rest)}</p>;
}

function Body({ item, live, cwd, isOpen, onToggle }: Props) {
  switch (item.kind) {
    case "user":
      return (
        <div className="border-l-[3px] border-ink pl-3">
          <p className="text-xs text-ink-2">
            <Shown text={item.from} />
            <span className="wide:hidden">, {clock(item.at)}</span>
          </p>
          <p className="text-base font-medium whitespace-pre-wrap wrap-anywhere">
            <Shown text={item.text} />
          </p>
        </div>
      );
    case "text":
      return (
        <div className="text-base">
          <From parents={item.parents} />
          <Markdown text={item.text} />
        </div>
      );
    case "thinking":
      return (
        <details className="group text-ink-2" open={live}>
          <summary className="w-fit cursor-pointer text-xs select-none">Thinking</summary>
          <div className="mt-1 border-l border-line pl-3">
            <From parents={item.parents} />
            <Markdown text={item.text} />
          </div>
        </details>
      );
    case "tool":
      return <CallLine tool={item} cwd={cwd} isOpen={isOpen} onToggle={() => onToggle(item.key)} />;
    case "ask":
      return <ReceiptLine ask={item.ask} headed />;
    case "error":
      return (
        <p className="railed tone-denied bg-denied-bg px-3 py-2 wrap-anywhere text-denied">
          Error: <Shown text={item.text} />
        </p>
      );
    case "done":
      return (
        <p className={`text-xs ${item.reason === "failed" ? "font-medium text-denied" : "text-ink-2"}`}>
          {ended(item)}
          <span className="wide:hidden">, {clock(item.at)}</span>
          {item.usage && `, ${(item.usage.inputTokens + item.usage.outputTokens).toLocaleString("en")} tokens`}
        </p>
      );
    case "note":
      return (
        <p className="text-xs wrap-anywhere text-ink-2">
          <Shown text={item.text} />
        </p>
      );
  }
}
