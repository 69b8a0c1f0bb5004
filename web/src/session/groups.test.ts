import { describe, expect, it } from "vitest";
import type { Session } from "../api/generated";
import { grouped, need, recentFolders, tail } from "./groups";

const NOW = new Date(2026, 0, 31, 14, 2).getTime();
const before = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
let made = 0;
const session = (over: Partial<Session>): Session => ({
  sessionId: `ses_${made++}`,
  agent: "claude",
  permissionMode: "default",
  seq: 9,
  state: "idle",
  openAsks: 0,
  interactiveClients: 0,
  enabledClients: 0,
  openedAt: before(60),
  changedAt: before(5),
  ...over,
});

describe("what a session needs", () => {
  it("is an answer, whatever its agent does meanwhile", () => {
    for (const state of ["running", "waiting", "parked", "idle", "detached"] as const)
      expect(need(session({ state, openAsks: 2 }), NOW)).toBe("waiting");
  });

  it("is nothing while it works, and nothing more when it is done", () => {
    expect(need(session({ state: "running" }), NOW)).toBe("working");
    expect(need(session({ state: "idle" }), NOW)).toBe("today");
    expect(need(session({ state: "ended" }), NOW)).toBe("today");
    expect(need(session({ state: "ended", changedAt: before(24 * 60) }), NOW)).toBe("earlier");
  });

  it("is a first message where nothing was said", () => {
    expect(need(session({ seq: 1 }), NOW)).toBe("unstarted");
    expect(need(session({ seq: 1, state: "ended" }), NOW)).toBe("today");
  });
});

it("groups by that, what waits longest or else changed last first, and shows a session once", () => {
  const old = session({ openAsks: 1, changedAt: before(9) });
  const fresh = session({ openAsks: 1, changedAt: before(1) });
  const works = session({ state: "running", changedAt: before(4) });
  const acts = session({ state: "running", changedAt: before(2) });
  const groups = grouped([fresh, works, acts, old, fresh], NOW);
  expect(groups.map((one) => one.need)).toEqual(["waiting", "working"]);
  expect(groups[0]?.sessions).toEqual([old, fresh]);
  expect(groups[1]?.sessions).toEqual([acts, works]);
});

it("ends a row with what matters there", () => {
  expect(tail(session({ openAsks: 3 }), NOW)).toBe("3");
  expect(tail(session({ state: "running", openedAt: before(9) }), NOW)).toBe("9m");
  expect(tail(session({ changedAt: before(2) }), NOW)).toBe("14:00");
  expect(tail(session({ changedAt: before(3 * 24 * 60) }), NOW)).toBe("3d");
});

it("remembers each folder once, the last one first", () => {
  const of = (cwd: string | null, minutes: number) => session({ cwd, openedAt: before(minutes) });
  const sessions = [of("/a", 30), of("/b", 20), of("/a", 10), of(null, 5), of("/c", 40)];
  expect(recentFolders(sessions, 2)).toEqual(["/a", "/b"]);
});
