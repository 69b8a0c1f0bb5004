// What waits, as the list shows it: by session, alike asks in one row.

import type { Interaction } from "../api/generated";
import { together } from "../interactions/alike";

/** One ask, or several alike. */
export type Row = Interaction[];

export interface Group {
  sessionId: string;
  rows: Row[];
}

export const idOf = (ask: Interaction): string => ask.request.interactionId;

/** A row's name: that of its first ask. */
export const rowId = (row: Row): string | null => (row[0] ? idOf(row[0]) : null);

export const rowWith = (rows: Row[], id: string | null): Row | null =>
  rows.find((row) => row.some((ask) => idOf(ask) === id)) ?? null;

/**
 * By session, the one that waits longest first; a new ask comes below those of its session.
 * @param asks oldest first
 * @param apart asks that a person goes through one by one
 */
export function triage(asks: Interaction[], apart: ReadonlySet<string>): Group[] {
  const sessions = new Map<string, Interaction[]>();
  for (const ask of asks) sessions.set(ask.sessionId, [...(sessions.get(ask.sessionId) ?? []), ask]);
  return [...sessions].map(([sessionId, of]) => {
    const alone = (ask: Interaction) => apart.has(idOf(ask));
    const rows = together(of.filter((ask) => !alone(ask)));
    const firsts = new Map(rows.map((row) => [row[0], row]));
    return {
      sessionId,
      rows: of.flatMap((ask) => (alone(ask) ? [[ask]] : firsts.has(ask) ? [firsts.get(ask) as Row] : [])),
    };
  });
}

/**
 * Where to go from a row that was left: the next below that still waits, or the last above it. Never back to the top.
 * @param before the rows as they were while it was one of them
 */
export function nextFrom(before: Row[], id: string, rows: Row[]): Row | null {
  const at = before.findIndex((row) => row.some((ask) => idOf(ask) === id));
  const waits = (row: Row): Row | null => {
    const found = row.map((ask) => rowWith(rows, idOf(ask))).find((one) => one !== null);
    return found && !found.some((ask) => idOf(ask) === id) ? found : null;
  };
  const order = [...before.slice(at + 1), ...before.slice(0, Math.max(at, 0)).reverse()];
  for (const row of order) {
    const next = waits(row);
    if (next) return next;
  }
  // What came since.
  return rows.find((row) => !row.some((ask) => idOf(ask) === id)) ?? null;
}
