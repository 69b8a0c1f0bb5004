import { expect, it } from "vitest";
import { byDay, dayOf, decidedBy, outcomeOf } from "./decisions";

const NOW = new Date(2026, 0, 2, 0, 30).getTime();
const at = (...date: [number, number, number, number]) => new Date(...date).toISOString();

it("says days as people do, by their own midnight", () => {
  expect(dayOf(at(2026, 0, 2, 0), NOW)).toBe("Today");
  expect(dayOf(at(2026, 0, 1, 23), NOW)).toBe("Yesterday");
  expect(dayOf(at(2025, 11, 30, 12), NOW)).toBe("Tue, 30 Dec 2025");
});

it("puts decisions under their days, in the order they come", () => {
  const one = (decidedAt: string) => ({ decidedAt });
  const days = byDay([one(at(2026, 0, 2, 0)), one(at(2026, 0, 1, 9)), one(at(2026, 0, 1, 8))], NOW);
  expect(days.map(({ day, entries }) => [day, entries.length])).toEqual([
    ["Today", 1],
    ["Yesterday", 2],
  ]);
});

const ana = { is: "person", name: "Ana" } as const;

it("tells a person's approval from what a rule let pass, and from silence", () => {
  expect(outcomeOf({ outcome: "approved", by: ana })).toMatchObject({ tone: "good", words: "Approved" });
  expect(outcomeOf({ outcome: "approved", by: ana, remembered: ["allow x"] }).words).toBe("Remembered");
  expect(outcomeOf({ outcome: "approved", by: { is: "rule", text: "allow x" } }).words).toBe("Allowed");
  expect(outcomeOf({ outcome: "denied", by: ana })).toMatchObject({ tone: "bad" });
  expect(outcomeOf({ outcome: "expired" })).toMatchObject({ tone: "quiet", words: "No answer" });
});

it("says who decided, where, with which words or by whose rule", () => {
  expect(decidedBy({ outcome: "approved", by: ana, surface: "web", words: "Go" }, "Ana")).toEqual({
    who: "You in the browser",
    more: "“Go”",
  });
  expect(decidedBy({ outcome: "approved", by: ana, surface: "terminal" }, "Ben").who).toBe("Ana in the terminal");
  expect(decidedBy({ outcome: "approved", by: { is: "rule", text: "allow x", layer: "person" } }, "Ana")).toEqual({
    who: "A rule (yours)",
    more: "allow x",
  });
  expect(decidedBy({ outcome: "expired" }, "Ana")).toEqual({ who: "Nobody", more: "not run" });
});

it("says what a person decided in the agent's own terminal, and whose answer came too late", () => {
  const there = {
    outcome: "allowed_in_terminal",
    by: { is: "person_in_terminal" },
    surface: "agent_terminal",
  } as const;
  expect(outcomeOf(there)).toMatchObject({ tone: "good", words: "Allowed, and ran" });
  const tooLate = { settlement: "denied", by: ana, surface: "web" } as const;
  expect(decidedBy({ ...there, tooLate, words: "stop" }, "Ana")).toEqual({
    who: "A person in the agent's terminal",
    more: "too late: denied by You in the browser; “stop”",
  });
});

it("says what ran in the place of what was asked", () => {
  const edited = { outcome: "approved_with_edit", by: ana, surface: "web", ran: "ls -l" } as const;
  expect(outcomeOf(edited).words).toBe("Approved with changes");
  expect(decidedBy(edited, "Ben")).toEqual({ who: "Ana in the browser", more: "ran: ls -l" });
});
