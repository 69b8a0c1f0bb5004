import { describe, expect, it } from "vitest";
import { isPutOff, laters } from "./snooze";

const offered = (hour: number, minute = 0) =>
  laters(new Date(2026, 0, 31, hour, minute)).map(({ words, until }) => [words, until.getDate(), until.getHours()]);

describe("an ask can be put off", () => {
  it("for an hour, until the evening, until tomorrow", () => {
    expect(offered(9)).toEqual([
      ["For an hour", 31, 10],
      ["Until this evening, 18:00", 31, 18],
      ["Until tomorrow, 08:00", 1, 8],
    ]);
  });
  it("not until an evening that is near or over", () => {
    expect(offered(17, 30).map(([words]) => words)).toEqual(["For an hour", "Until tomorrow, 08:00"]);
    expect(offered(22)).toHaveLength(2);
  });
  it("and waits again by itself", () => {
    const ask = { snoozedUntil: "2026-01-31T10:00:00Z" };
    expect(isPutOff(ask, Date.parse("2026-01-31T09:59:59Z"))).toBe(true);
    expect(isPutOff(ask, Date.parse("2026-01-31T10:00:00Z"))).toBe(false);
    expect(isPutOff({}, 0)).toBe(false);
  });
});
