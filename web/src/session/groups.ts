// Sessions by what they need. No clock here: `now` is given. Pure.

import type { Session } from "../api/generated";
import { age, clock } from "../text/time";

export type Need = "waiting" | "working" | "unstarted" | "today" | "earlier";

export const NEED: Record<Need, string> = {
  waiting: "Waiting for you",
  working: "Working",
  unstarted: "Not started",
  today: "Done today",
  earlier: "Earlier",
};

const ORDER: Need[] = ["waiting", "working", "unstarted", "today", "earlier"];

const isSameDay = (at: string, now: number): boolean => new Date(at).toDateString() === new Date(now).toDateString();

/** It asks there alone, and nothing here can answer. */
export const asksInTerminal = (session: Session): boolean => (session.asksInTerminal ?? 0) > 0;

export function need(session: Session, now: number): Need {
  if (session.openAsks > 0 || asksInTerminal(session)) return "waiting";
  switch (session.state) {
    case "running":
    case "waiting":
    case "parking":
      return "working";
    case "idle":
    case "parked":
    case "detached":
    case "ended":
      // Nothing happened in it but that it was opened.
      if (session.seq <= 1 && session.state !== "ended") return "unstarted";
      return isSameDay(session.changedAt, now) ? "today" : "earlier";
  }
}

export interface Group {
  need: Need;
  sessions: Session[];
}

/** The groups that have something in them; in each, what changed last comes first, and of what waits, what waits longest. */
export function grouped(sessions: Session[], now: number): Group[] {
  const by = new Map<Need, Session[]>(ORDER.map((one) => [one, []]));
  for (const session of new Map(sessions.map((one) => [one.sessionId, one])).values())
    by.get(need(session, now))?.push(session);
  return [...by].flatMap(([need, found]) =>
    found.length === 0
      ? []
      : [
          {
            need,
            sessions: found.sort(
              (a, b) => (Date.parse(b.changedAt) - Date.parse(a.changedAt)) * (need === "waiting" ? -1 : 1),
            ),
          },
        ],
  );
}

/** The few letters at the end of a row: how many wait, since when it works, when it was done. */
export function tail(session: Session, now: number): string {
  switch (need(session, now)) {
    case "waiting":
      return session.openAsks > 0 ? String(session.openAsks) : "in its terminal";
    case "working":
    case "unstarted":
      return age(session.openedAt, now);
    case "today":
      return clock(session.changedAt);
    case "earlier":
      return age(session.changedAt, now);
  }
}

/** Folders that were worked in, each once, the last one first. */
export function recentFolders(sessions: Session[], most: number): string[] {
  const newest = [...sessions].sort((a, b) => Date.parse(b.openedAt) - Date.parse(a.openedAt));
  return [...new Set(newest.flatMap(({ cwd }) => (cwd ? [cwd] : [])))].slice(0, most);
}
