import { type ReactNode, useId } from "react";
import type { CallDecision } from "../api/generated";
import { ReceiptLine } from "../interactions/Receipt";
import { asker, decisionWords, fileOf, LAYER, shellLine } from "../interactions/words";
import { Diff } from "../text/Diff";
import { readDiff, replaceDiff } from "../text/diff";
import { Payload } from "../text/Payload";
import { Shown } from "../text/Shown";
import { span } from "../text/time";
import { plain } from "../text/visible";
import { Icon } from "../ui/Icon";
import { type Ask, isOver } from "./ask";
import { callLine, iconOf, isRefused, outcome, ranWith, type Said } from "./call";
import { useNow } from "./now";
import type { ToolItem } from "./transcript";

const TONE: Record<Said["tone"], string> = {
  plain: "text-ink-2",
  good: "text-approved",
  bad: "font-medium text-denied",
  waits: "font-medium text-pending",
};

interface Props {
  tool: ToolItem;
  cwd: string | null;
  isOpen: boolean;
  onToggle: () => void;
}

/** A tool call: one line until it is opened. What still waits, and what did not go as decided, is always said. */
export function CallLine({ tool, cwd, isOpen, onToggle }: Props) {
  const { ask } = tool;
  const inside = useId();
  const said = outcome(tool);
  const isUnderWay = tool.result === undefined && ask === undefined && tool.decision?.told !== "denied";
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? inside : undefined}
        onClick={onToggle}
        className="tag -ml-2 grid min-h-[26px] w-[calc(100%+8px)] grid-cols-[14px_minmax(0,1fr)_auto] items-center gap-x-2 px-2 py-0.5 text-left text-ink-2 hover:bg-block hover:text-ink max-wide:min-h-9"
      >
        <Icon name={iconOf(tool)} className="size-3.5 text-ink-3" />
        <span className="truncate font-mono text-xs">
          {tool.parents.length > 0 && `${asker(tool.parents[0] ?? "", tool.parents.slice(1))} › `}
          {callLine(tool, cwd)}
        </span>
        <span className="flex gap-2 text-xs whitespace-nowrap">
          {said.map(({ tone, text }) => (
            <span key={text} className={TONE[tone]}>
              {text}
            </span>
          ))}
          {isUnderWay && <UnderWay since={tool.input?.at ?? null} />}
        </span>
      </button>
      {ask && !isOpen && needsWords(ask) && (
        <div className="mt-1 ml-[22px] text-xs">
          <ReceiptLine ask={ask} />
        </div>
      )}
      {isOpen && (
        <div id={inside} className="mt-1 mb-2 ml-[22px] grid gap-2 border-l border-line pl-3">
          <Inside tool={tool} />
        </div>
      )}
    </div>
  );
}

/** A settled approval that reached the agent is told by the line itself. */
function needsWords(ask: Ask): boolean {
  if (!isOver(ask) || ask.request.kind !== "approval") return true;
  if (ask.ranOtherThanApproved || (ask.state === "settled" && ask.settlement === "failed")) return true;
  if (ask.response?.action === "deny" && ask.response.reason) return true;
  switch (ask.delivery?.delivery) {
    case "unknown":
    case "undeliverable":
    case "not_run":
      return true;
    case undefined:
    case "accepted":
    case "delivering":
    case "delivered":
    case "acknowledged":
      return false;
  }
}

function UnderWay({ since }: { since: string | null }) {
  const now = useNow(1_000);
  if (since === null) return <span>writing…</span>;
  const ms = now - Date.parse(since);
  return <span>running{ms >= 2_000 && ` ${span(ms)}`}</span>;
}

function Inside({ tool }: { tool: ToolItem }) {
  const { ask, result, decision } = tool;
  const ran = ranWith(tool);
  const failed = result?.isError === true && !isRefused(tool);
  // A question or a form is what its input says.
  const speaksForItself = ask !== undefined && ask.request.kind !== "approval";
  const preview = ask?.request.kind === "approval" && !ran?.isEdited ? (ask.request.preview ?? null) : null;
  return (
    <>
      <p className="font-mono text-xs text-ink-2">
        <Shown text={tool.name} />
      </p>
      {!speaksForItself && ran && <Input tool={tool.name} value={ran.value} preview={preview} />}
      {!ran && tool.streamed && <Payload text={tool.streamed} />}
      {ask && (
        <div className="text-xs">
          <ReceiptLine ask={ask} />
        </div>
      )}
      {decision && decision.told !== "left_to_agent" && <Decision decision={decision} />}
      {result && <Folded name={failed ? "Error" : "Result"} value={result.value} />}
    </>
  );
}

/** What decided without asking: the rules themselves, and whose they are. */
function Decision({ decision }: { decision: CallDecision }) {
  const rules = new Map(
    decision.by === "rules"
      ? decision.verdict.parts.flatMap(({ rule }) => (rule ? [[`${rule.layer} ${rule.text}`, rule] as const] : []))
      : [],
  );
  if (rules.size === 0) return <p className="text-xs wrap-anywhere text-ink-2">{decisionWords(decision)}</p>;
  return (
    <ul className="grid gap-1 text-xs text-ink-2">
      {[...rules.values()].map(({ layer, text }) => (
        <li key={`${layer} ${text}`} className="wrap-anywhere">
          {decision.told === "denied" ? "Denied" : "Allowed"} by rule ({LAYER[layer]}):{" "}
          <code className="bg-block px-1 font-mono">
            <Shown text={text} />
          </code>
        </li>
      ))}
    </ul>
  );
}

function Input({ tool, value, preview }: { tool: string; value: unknown; preview: string | null }) {
  const command = shellLine(tool, value);
  if (command !== null) return <Folded name="Command" value={command} lead="$ " />;
  const { old_string, new_string } = (value ?? {}) as Record<string, unknown>;
  if (preview) return <Diff lines={readDiff(preview)} />;
  if (typeof old_string === "string" && typeof new_string === "string")
    return <Diff lines={replaceDiff(old_string, new_string)} />;
  const file = fileOf(value);
  const rest = typeof value === "object" && value !== null ? Object.keys(value).length : 1;
  if (value === null || rest === 0) return null;
  if (file !== null && rest === 1) return <Payload text={file} />;
  return <Folded name="Input" value={value} />;
}

const SHORT = 20;
const LONGEST = 2_000;

/** Long machine text is one press away: the transcript stays readable. */
function Folded({ name, value, lead = "" }: { name: string; value: unknown; lead?: string }): ReactNode {
  const text = plain(value) || "(no output)";
  const lines = text.split("\n");
  if (lines.length <= SHORT && text.length <= LONGEST) return <Payload text={text} lead={lead} />;
  const glimpse = typeof value === "string" ? (lines.find((line) => line.trim()) ?? "") : JSON.stringify(value);
  return (
    <details className="group">
      <summary className="flex cursor-pointer gap-2 bg-block px-3 py-2 font-mono text-mono text-ink-2 select-none">
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
