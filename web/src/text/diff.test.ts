import { expect, it } from "vitest";
import { countDiff, readDiff, replaceDiff } from "./diff";

const DIFF = "--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@\n same\n-- old\n+new\n++more\n last\n";

it("reads numbers and signs, and takes a removed `--` for a line, not a heading", () => {
  expect(readDiff(DIFF).filter((line) => line.kind !== "hunk")).toEqual([
    { kind: "same", text: "same", before: 3, after: 3 },
    { kind: "remove", text: "- old", before: 4, after: null },
    { kind: "add", text: "new", before: null, after: 4 },
    { kind: "add", text: "+more", before: null, after: 5 },
    { kind: "same", text: "last", before: 5, after: 6 },
  ]);
  expect(countDiff(DIFF)).toBe("+2 −1");
});

it("reads what has no hunks by the first character", () => {
  expect(countDiff("-a\n+b\n+c")).toBe("+2 −1");
});

it("leaves out what two texts share", () => {
  const kinds = replaceDiff("a\nb\nc", "a\nx\ny\nc").map((line) => `${line.kind} ${line.text}`);
  expect(kinds).toEqual(["same a", "remove b", "add x", "add y", "same c"]);
});
