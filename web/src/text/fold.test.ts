import { describe, expect, it } from "vitest";
import { fold, foldLine, headLines, rangesOf } from "./fold";

const folds = (count: number, kept: number[] = [], head?: number) =>
  fold(count, new Set(kept), head).map(({ from, to, folded }) => `${folded ? "-" : ""}${from}..${to}`);

describe("a long text", () => {
  it("shows its first twelve and its last six lines", () => {
    expect(folds(400)).toEqual(["0..12", "-12..394", "394..400"]);
  });
  it("is not folded where that saves nothing", () => {
    expect(folds(20)).toEqual(["0..20"]);
    expect(folds(21)).toEqual(["0..12", "-12..15", "15..21"]);
  });
  it("never folds a marked line", () => {
    expect(folds(400, [200, 201, 13])).toEqual(["0..14", "-14..200", "200..202", "-202..394", "394..400"]);
  });
  it("gives up its beginning in a low window, and never its end", () => {
    expect(headLines(900, false)).toBe(12);
    expect(headLines(500, false)).toBe(3);
    expect(headLines(900, true)).toBe(3);
    expect(folds(400, [], headLines(500, false))).toEqual(["0..3", "-3..394", "394..400"]);
  });
  it.each([0, 1, 18, 19, 40, 1000])("of %i lines has each of them once", (count) => {
    const stretches = fold(count, new Set([15, 16, 30]));
    expect(stretches.reduce((at, one) => (one.from === at ? one.to : Number.NaN), 0)).toBe(count);
  });
});

describe("a long line", () => {
  it("shows beginning, end and what is marked", () => {
    const parts = foldLine(1_000_000, [{ from: 500_000, to: 500_010 }]);
    expect(parts.filter((part) => !part.folded)).toEqual([
      { from: 0, to: 600, folded: false },
      { from: 499_940, to: 500_070, folded: false },
      { from: 999_700, to: 1_000_000, folded: false },
    ]);
    expect(parts.reduce((at, one) => (one.from === at ? one.to : Number.NaN), 0)).toBe(1_000_000);
  });
  it("that is short is whole", () => {
    expect(foldLine(900, [])).toEqual([{ from: 0, to: 900, folded: false }]);
  });
});

describe("marked words", () => {
  it("are found where they stand, once, in order", () => {
    expect(rangesOf("a && rm -rf b && c", ["rm -rf b", "gone", ""])).toEqual([{ from: 5, to: 13 }]);
    expect(rangesOf("xyz", ["yz", "xy"])).toEqual([{ from: 0, to: 2 }]);
  });
});
