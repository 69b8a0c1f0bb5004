// How a decision is told in a list. No clock here: `now` is given. Pure.

import type { Outcome as Became, Decision, DecisionBy, Settlement, Surface } from "../api/generated";
import { LAYER, SURFACE } from "../interactions/words";
import { brief, visible } from "../text/visible";
import type { IconName } from "../ui/Icon";

/** By what was asked. */
export function iconOf({ kind, toolName }: Pick<Decision, "kind" | "toolName">): IconName {
  if (kind === "question") return "ask";
  if (kind === "form") return "form";
  if (/^(bash|shell)$/i.test(toolName)) return "shell";
  return /edit|write/i.test(toolName) ? "edit" : "tool";
}

export interface Outcome {
  tone: "good" | "bad" | "quiet";
  icon: IconName;
  words: string;
}

const BECAME: Record<Became, Outcome> = {
  approved: { tone: "good", icon: "tick", words: "Approved" },
  approved_with_edit: { tone: "good", icon: "tick", words: "Approved with changes" },
  approved_ran_other: { tone: "bad", icon: "x", words: "Something else ran" },
  approved_not_run: { tone: "quiet", icon: "clock", words: "Approved, did not run" },
  approved_may_have_run: { tone: "quiet", icon: "clock", words: "Approved, may have run" },
  approved_not_delivered: { tone: "quiet", icon: "clock", words: "Approved, did not reach the agent" },
  denied: { tone: "bad", icon: "x", words: "Denied" },
  answered: { tone: "good", icon: "tick", words: "Answered" },
  answer_not_delivered: { tone: "quiet", icon: "clock", words: "Answered, did not reach the agent" },
  declined: { tone: "bad", icon: "x", words: "Declined" },
  tool_failed: { tone: "bad", icon: "x", words: "Tool failed" },
  allowed_in_terminal: { tone: "good", icon: "tick", words: "Allowed, and ran" },
  denied_in_terminal: { tone: "bad", icon: "x", words: "Denied" },
  answered_in_terminal: { tone: "good", icon: "tick", words: "Answered" },
  decided_by_agent_settings: { tone: "quiet", icon: "clock", words: "Decided by the agent" },
  not_known: { tone: "quiet", icon: "clock", words: "Over in its terminal" },
  expired: { tone: "quiet", icon: "clock", words: "No answer" },
  cancelled: { tone: "quiet", icon: "clock", words: "Cancelled" },
  answered_late: { tone: "quiet", icon: "clock", words: "Answered late" },
  withdrawn: { tone: "quiet", icon: "clock", words: "Withdrawn" },
};

export function outcomeOf({ outcome, remembered, by }: Pick<Decision, "outcome" | "remembered" | "by">): Outcome {
  const became = BECAME[outcome];
  if (outcome !== "approved") return became;
  if (by && by.is !== "person") return { ...became, words: "Allowed" };
  return (remembered?.length ?? 0) > 0 ? { ...became, words: "Remembered" } : became;
}

const SETTLED: Record<Settlement, string> = {
  approved: "approved",
  denied: "denied",
  answered: "answered",
  declined: "declined",
  failed: "answered",
};

type Told = Pick<Decision, "by" | "surface" | "words" | "remembered" | "outcome" | "tooLate" | "ran">;

interface Named {
  who: string;
  more: string | null;
}

/** Who or what decided, what was said with it, and what else ran or came too late. */
export function decidedBy(decision: Told, me: string): Named {
  const { by, surface, words, remembered, outcome, tooLate, ran } = decision;
  const late = tooLate
    ? `too late: ${SETTLED[tooLate.settlement]} by ${named(tooLate.by, tooLate.surface, me).who}`
    : null;
  const said = words
    ? `“${brief(words)}”`
    : (remembered?.length ?? 0) > 0
      ? (remembered ?? []).map(brief).join("; ")
      : null;
  const instead = ran ? `ran: ${brief(ran)}` : null;
  const silent = outcome === "expired" ? "not run" : null;
  const { who, more } = named(by, surface, me);
  const parts = [more, late, instead, said ?? silent].filter((part) => part !== null);
  return { who: outcome === "withdrawn" ? "The program" : who, more: parts.join("; ") || null };
}

function named(by: DecisionBy | null | undefined, surface: Surface | null | undefined, me: string): Named {
  switch (by?.is) {
    case undefined:
      return { who: "Nobody", more: null };
    case "person": {
      const name = by.name === me ? "You" : visible(by.name);
      return { who: [name, surface && SURFACE[surface]].filter(Boolean).join(" "), more: null };
    }
    case "person_in_terminal":
      return { who: "A person in the agent's terminal", more: null };
    case "agent_settings":
      return { who: "The agent's settings, or a hook", more: null };
    case "rule":
      return { who: by.layer ? `A rule (${LAYER[by.layer]})` : "A rule", more: brief(by.text) };
    case "grant":
      return { who: "A remembered approval", more: null };
    case "earlier":
      return { who: "The same ask before", more: null };
  }
}

/** The day as people say it: `Today`, `Yesterday`, `Tue 12 Nov`, with the year where it is another. */
export function dayOf(at: string, now: number): string {
  const day = new Date(at);
  const today = new Date(now);
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (day.toDateString() === today.toDateString()) return "Today";
  if (day.toDateString() === yesterday.toDateString()) return "Yesterday";
  return day.toLocaleDateString("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    ...(day.getFullYear() !== today.getFullYear() && { year: "numeric" }),
  });
}

export interface Day<T> {
  day: string;
  entries: T[];
}

/** Newest first, as they come, under their days. */
export function byDay<T extends { decidedAt: string }>(decisions: readonly T[], now: number): Day<T>[] {
  const days: Day<T>[] = [];
  for (const one of decisions) {
    const day = dayOf(one.decidedAt, now);
    const last = days.at(-1);
    if (last?.day === day) last.entries.push(one);
    else days.push({ day, entries: [one] });
  }
  return days;
}
