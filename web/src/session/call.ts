// A tool call as one line: what it is, what became of it, how long it took, who let it. Pure.

import { fileOf, headline, IN_TERMINAL, planOf, shellLine } from "../interactions/words";
import { type DiffLine, readDiff, replaceDiff } from "../text/diff";
import { folder, span, took } from "../text/time";
import { brief, visible } from "../text/visible";
import type { IconName } from "../ui/Icon";
import type { Ask } from "./ask";
import type { ToolItem } from "./transcript";

const fields = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};

/** What ran: what a person changed is what runs; what was asked stands in the ask. */
export function ranWith(tool: ToolItem): { value: unknown; isEdited: boolean } | null {
  const { ask, input } = tool;
  const edited = ask?.response?.action === "approve" ? ask.response.editedInput : undefined;
  if (edited !== undefined) return { value: edited, isEdited: true };
  return input ? { value: input.value, isEdited: false } : null;
}

/** A file as its session's people say it: from the session's folder on. */
export const fileIn = (path: string, cwd: string | null): string =>
  visible(cwd && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : folder(path));

/** How many lines the call adds and removes, where it changes a text. */
export function linesChanged(tool: ToolItem, value: unknown): { added: number; removed: number } | null {
  const { old_string, new_string } = fields(value);
  const preview = tool.ask?.request.kind === "approval" ? tool.ask.request.preview : null;
  const isReplacing = typeof old_string === "string" && typeof new_string === "string";
  if (!preview && !isReplacing) return null;
  const lines = preview ? readDiff(preview) : replaceDiff(String(old_string), String(new_string));
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { added: count("add"), removed: count("remove") };
}

export function iconOf(tool: ToolItem): IconName {
  const { ask } = tool;
  if (ask?.request.kind === "question") return "ask";
  if (ask?.request.kind === "form") return "form";
  if (ask && planOf(ask.request) !== null) return "plan";
  const value = ranWith(tool)?.value;
  const { old_string, content, pattern, query, url, subagent_type } = fields(value);
  if (shellLine(tool.name, value) !== null) return "shell";
  if (subagent_type !== undefined) return "agent";
  const file = fileOf(value);
  if (file !== null && (old_string !== undefined || content !== undefined || linesChanged(tool, value))) return "edit";
  return file !== null || [pattern, query, url].some((one) => one !== undefined) ? "find" : "tool";
}

/** One line that says what is called. Whole, it stands inside. */
export function callLine(tool: ToolItem, cwd: string | null): string {
  const { ask } = tool;
  if (ask && ask.request.kind !== "approval") return headline(ask.request, "row");
  if (ask && planOf(ask.request) !== null) return "Plan";
  const name = brief(tool.name);
  const ran = ranWith(tool);
  if (!ran) return tool.streamed ? `${name} ${brief(tool.streamed)}` : name;
  const command = shellLine(tool.name, ran.value);
  if (command !== null) return brief(command);
  const file = fileOf(ran.value);
  const lines = linesChanged(tool, ran.value);
  if (file !== null)
    return lines ? `${fileIn(file, cwd)} +${lines.added} −${lines.removed}` : `${name} ${fileIn(file, cwd)}`;
  const [first] = Object.values(fields(ran.value));
  return first === undefined ? name : `${name} ${brief(typeof first === "string" ? first : JSON.stringify(first))}`;
}

/** It did not run, because somebody or something said no, or nobody said anything. */
export const isRefused = ({ decision, ask }: ToolItem): boolean =>
  decision?.told === "denied" ||
  ask?.state === "closed" ||
  (ask?.state === "settled" && (ask.settlement === "denied" || ask.settlement === "declined"));

/** How long it ran: from the moment that it might. */
export function ranFor(tool: ToolItem): number | null {
  const { input, result, ask } = tool;
  if (!input || !result || isRefused(tool)) return null;
  const from = Math.max(Date.parse(input.at), ask?.respondedAt ? Date.parse(ask.respondedAt) : 0);
  return Math.max(0, Date.parse(result.at) - from);
}

export interface Said {
  tone: "plain" | "good" | "bad" | "waits";
  text: string;
}

/** What became of it, a few words each: `failed`, `8.4 s`, `✓ Ana, 40 s`. */
export function outcome(tool: ToolItem): Said[] {
  const said: Said[] = [];
  if (tool.result?.isError && !isRefused(tool)) said.push({ tone: "bad", text: "failed" });
  const ms = ranFor(tool);
  // What is over at once needs no clock.
  if (ms !== null && ms >= 100) said.push({ tone: "plain", text: took(ms) });
  if (tool.ask) said.push(settled(tool.ask));
  const by = tool.decision && !tool.ask ? unasked(tool) : null;
  if (by) said.push(by);
  return said;
}

function unasked({ decision }: ToolItem): Said | null {
  if (!decision || decision.told === "left_to_agent" || decision.by === "agents_own") return null;
  const isDenied = decision.told === "denied";
  const did = isDenied ? "denied" : "allowed";
  const by = { rules: "by rule", grant: "as before", mode: "by permissions" }[decision.by];
  return { tone: isDenied ? "bad" : "plain", text: `${did} ${by}` };
}

/** Who decided, and how long it waited for that. */
function settled(ask: Ask): Said {
  if (ask.state === "closed") {
    if (ask.closing === "expired") return { tone: "plain", text: "no answer" };
    if (ask.closing === "answered_late") return { tone: "plain", text: "answered late" };
    if (ask.closing === "withdrawn") return { tone: "plain", text: "withdrawn by the program" };
    if (ask.inTerminal) return { tone: "plain", text: IN_TERMINAL[ask.inTerminal.answer] };
    return { tone: "plain", text: ask.closedBy ? `stopped by ${visible(ask.closedBy)}` : "cancelled" };
  }
  if (ask.state !== "settled") return { tone: "waits", text: ask.state === "submitted" ? "sent" : "waits for you" };
  const isGood = ask.settlement === "approved" || ask.settlement === "answered";
  const { response, respondedAt, openedAt } = ask;
  const waited = respondedAt ? span(Date.parse(respondedAt) - Date.parse(openedAt)) : null;
  const who =
    response?.by === "person" ? [visible(response.name), waited] : [response ? DECIDED_BY[response.by] : null];
  return { tone: isGood ? "good" : "bad", text: [isGood ? "✓" : "✕", who.filter(Boolean).join(", ")].join(" ") };
}

const DECIDED_BY = { grant: "a remembered approval", rule: "a rule", earlier: "the same ask before" } as const;
