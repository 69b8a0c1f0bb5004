import { describe, expect, it } from "vitest";
import { meant, nearness } from "./matching";

describe("what a few letters mean", () => {
  const entries = ["New session", "Log out", "Rules", "Dark theme", "Roll out region modules"];
  const found = (typed: string, most = 9) => meant(entries, typed, (one) => one, most);

  it("is everything while nothing is typed, as far as there is room", () => {
    expect(found("")).toEqual(entries);
    expect(found("  ", 2)).toEqual(["New session", "Log out"]);
  });

  it("has every word, in any order and any case", () => {
    expect(found("SESS new")).toEqual(["New session"]);
    expect(found("session old")).toEqual([]);
  });

  it("puts what begins so before what only has it inside", () => {
    expect(found("r")[0]).toBe("Rules");
    expect(found("out")).toEqual(["Log out", "Roll out region modules"]);
    expect(nearness("Dark theme", "theme")).toBeGreaterThan(nearness("Dark theme", "heme"));
  });

  it("takes every letter for itself", () => {
    expect(nearness("a.b (c)", "(c)")).toBeGreaterThan(0);
    expect(nearness("abc", ".*")).toBe(0);
  });
});
