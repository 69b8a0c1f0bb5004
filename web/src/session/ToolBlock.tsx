import type { ReactNode } from "react";
import { ReceiptLine } from "../interactions/Receipt";
import { asker, commandOf, decisionWords, fileOf, headline } from "../interactions/words";
import { Diff } from "../text/Diff";
import { readDiff, replaceDiff } from "../text/diff";
import { Payload } from "../text/Payload";
import { Shown } from "../text/Shown";
import { plain, visible } from "../text/visible";
import type { ToolItem } from "./transcript";

/** A tool call: what goes in, the ask it waits for, what comes out. */
export function ToolBlock({ tool }: { tool: ToolItem }) {
  const { result, ask } = tool;
  const edited = ask?.response?.action === "approve" ? ask.response.editedInput : undefined;
  // What a person changed is what runs; what was asked stands in the ask.
  const input = edited === undefined ? tool.input : { value: edited };
  const command = input && commandOf(input.value);
  const file = input && fileOf(input.value);
  const refused =
    tool.decision?.told === "denied" ||
    ask?.state === "closed" ||
    (ask?.state === "settled" && (ask.settlement === "denied" || ask.settlement === "declined"));
  const failed = result?.isError === true && !refused;
  const state = failed ? "failed" : result || ask ? "" : "running";
  // A question or a form is what its input says.
  const speaksForItself = ask !== undefined && ask.request.kind !== "approval";
  return (
    <div className="tag border border-line bg-surface">
      <p className="flex items-baseline gap-2 px-3 py-1.5 font-mono text-xs">
        <span className="shrink-0 text-ink">
          {asker(tool.parents[0] ?? tool.name, tool.parents[0] ? [...tool.parents.slice(1), tool.name] : [])}
        </span>
        <span className="min-w-0 flex-1 truncate text-ink-2">{file && visible(file)}</span>
        <span className={failed ? "text-denied" : "text-ink-2"}>{state}</span>
      </p>
      <div className="border-t border-line empty:hidden">
        {speaksForItself ? (
          <p className="px-3 py-2 font-medium wrap-anywhere">{headline(ask.request)}</p>
        ) : input ? (
          <Input
            value={input.value}
            command={command ?? null}
            preview={ask?.request.kind === "approval" && edited === undefined ? (ask.request.preview ?? null) : null}
          />
        ) : (
          tool.streamed && <Payload text={tool.streamed} />
        )}
      </div>
      {ask && (
        <div className="border-t border-line">
          <ReceiptLine ask={ask} />
        </div>
      )}
      {tool.decision && tool.decision.told !== "left_to_agent" && (
        <p className="border-t border-line px-3 py-1 text-xs wrap-anywhere text-ink-2">
          {decisionWords(tool.decision)}
        </p>
      )}
      {result && (
        <div className={`border-t border-line ${command ? "" : "[&>div]:bg-transparent"}`}>
          <Folded name={failed ? "Error" : "Result"} value={result.value} />
        </div>
      )}
    </div>
  );
}

function Input({ value, command, preview }: { value: unknown; command: string | null; preview: string | null }) {
  if (command !== null) return <Folded name="Command" value={command} lead="$ " />;
  const { old_string, new_string } = (value ?? {}) as Record<string, unknown>;
  if (preview) return <Diff lines={readDiff(preview)} />;
  if (typeof old_string === "string" && typeof new_string === "string")
    return <Diff lines={replaceDiff(old_string, new_string)} />;
  // The file stands in the heading.
  const rest =
    typeof value === "object" && value !== null ? Object.keys(value).length - (fileOf(value) === null ? 0 : 1) : 1;
  if (value === null || rest === 0) return null;
  return <Folded name="Input" value={value} />;
}

const SHORT = 6;
const LONGEST = 2_000;

/** Long machine text is one press away: the transcript stays readable. */
function Folded({ name, value, lead = "" }: { name: string; value: unknown; lead?: string }): ReactNode {
  const text = plain(value) || "(no output)";
  const lines = text.split("\n");
  if (lines.length <= SHORT && text.length <= LONGEST) return <Payload text={text} lead={lead} />;
  const glimpse = typeof value === "string" ? (lines.find((line) => line.trim()) ?? "") : JSON.stringify(value);
  return (
    <details className="group">
      <summary className="flex cursor-pointer gap-2 bg-sunken px-3 py-2 font-mono text-mono text-ink-2 select-none">
        <span className="shrink-0 font-sans text-xs leading-5">
          {name}, {lines.length > 1 ? `${lines.length} lines` : `${text.length.toLocaleString("en")} characters`}
        </span>
        <span className="min-w-0 truncate group-open:hidden">
          <Shown text={glimpse.slice(0, 200)} where="payload" />
        </span>
      </summary>
      <Payload text={text} lead={lead} />
    </details>
  );
}
