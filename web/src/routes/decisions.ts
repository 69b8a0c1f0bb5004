// How a decision is told in a list. No clock here: `now` is given. Pure.

import type { Decision } from "../api/generated";
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

export function outcomeOf({ outcome, remembered, by }: Pick<Decision, "outcome" | "remembered" | "by">): Outcome {
  if (outcome.state === "closed") {
    const words = {
      expired: "No answer",
      cancelled: "Cancelled",
      answered_late: "Answered late",
      withdrawn: "Withdrawn",
    }[outcome.closing];
    return { tone: "quiet", icon: "clock", words };
  }
  switch (outcome.settlement) {
    case "approved": {
      const isNoPerson = by !== undefined && by !== null && by.is !== "person";
      const words = isNoPerson ? "Allowed" : (remembered?.length ?? 0) > 0 ? "Remembered" : "Approved";
      return { tone: "good", icon: "tick", words };
    }
    case "answered":
      return { tone: "good", icon: "tick", words: "Answered" };
    case "denied":
      return { tone: "bad", icon: "x", words: "Denied" };
    case "declined":
      return { tone: "bad", icon: "x", words: "Declined" };
    case "failed":
      return { tone: "bad", icon: "x", words: "Tool failed" };
  }
}

/** Who or what decided, and what was said with it. */
export function decidedBy(
  { by, surface, words, remembered, outcome }: Pick<Decision, "by" | "surface" | "words" | "remembered" | "outcome">,
  me: string,
): { who: string; more: string | null } {
  const said = words
    ? `“${brief(words)}”`
    : (remembered?.length ?? 0) > 0
      ? (remembered ?? []).map(brief).join("; ")
      : null;
  if (!by) {
    if (outcome.state === "closed" && outcome.closing === "withdrawn") return { who: "The program", more: said };
    return { who: "Nobody", more: outcome.state === "closed" && outcome.closing === "expired" ? "not run" : said };
  }
  switch (by.is) {
    case "person": {
      const name = by.name === me ? "You" : visible(by.name);
      return { who: [name, surface && SURFACE[surface]].filter(Boolean).join(" "), more: said };
    }
    case "rule":
      return { who: by.layer ? `A rule (${LAYER[by.layer]})` : "A rule", more: brief(by.text) };
    case "grant":
      return { who: "A remembered approval", more: said };
    case "earlier":
      return { who: "The same ask before", more: said };
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
