// One item of a transcript each.

import { memo } from "react";
import { ReceiptLine } from "../interactions/Receipt";
import { asker } from "../interactions/words";
import { Markdown } from "../text/Markdown";
import { Shown } from "../text/Shown";
import { clock } from "../text/time";
import { visible } from "../text/visible";
import { Boundary } from "../ui/Boundary";
import { ToolBlock } from "./ToolBlock";
import type { Item } from "./transcript";

/** An item that cannot be drawn says so, and the others stay. */
export const ItemView = memo(function ItemView({ item, live }: { item: Item; live: boolean }) {
  return (
    <Boundary
      fallback={(reason) => (
        <p className="railed tone-denied bg-denied-bg px-3 py-2 text-denied">This could not be shown: {reason}</p>
      )}
    >
      <Body item={item} live={live} />
    </Boundary>
  );
});

/** How a turn ended. A stop of which nobody knows who wanted it was a person's all the same. */
const ended = ({ reason, by }: Extract<Item, { kind: "done" }>): string =>
  ({ completed: "Done", interrupted: `Stopped by ${by ? visible(by) : "a person"}`, failed: "Failed" })[reason];

function From({ parents }: { parents: string[] }) {
  const [first, ...rest] = parents;
  if (first === undefined) return null;
  return <p className="mb-0.5 text-xs text-ink-2">{asker(first, rest)}</p>;
}

function Body({ item, live }: { item: Item; live: boolean }) {
  switch (item.kind) {
    case "user":
      return (
        <div className="tag border-l-[3px] border-ink bg-surface px-3 py-2">
          <p className="mb-0.5 text-xs text-ink-2">
            <Shown text={item.from} />, {clock(item.at)}
          </p>
          <p className="whitespace-pre-wrap wrap-anywhere">
            <Shown text={item.text} />
          </p>
        </div>
      );
    case "text":
      return (
        <div>
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
      return <ToolBlock tool={item} />;
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
        <p className="flex items-center gap-3 text-xs text-ink-2">
          <span className="h-px flex-1 bg-line" />
          {ended(item)}, {clock(item.at)}
          {item.usage && `, ${(item.usage.inputTokens + item.usage.outputTokens).toLocaleString("en")} tokens`}
          <span className="h-px flex-1 bg-line" />
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
