import assert from "node:assert/strict";
import test from "node:test";
import { age, folder, isRounded, pieces, span, thirds, visible } from "../text.js";

const marked = (text, how) => pieces(text, how).filter((piece) => piece.marked).map((piece) => piece.text);

test("what cannot be seen is shown and marked", () => {
  assert.deepEqual(pieces("a\u202Eb"), [
    { text: "a", marked: false }, { text: "⟨U+202E⟩", marked: true }, { text: "b", marked: false },
  ]);
  const hidden = ["\u0000", "\u001B", "\r", "\u007F", "\u0085", "\u00AD", "\u061C", "\u200B", "\u200D", "\u2028", "\u2066", "\u3164", "\uFEFF", "\uD800", "\u{E0041}", "\u{E0100}"];
  for (const char of hidden) assert.equal(marked(char).length, 1, char.codePointAt(0).toString(16));
  assert.deepEqual(marked("\u{E0041}"), ["⟨U+E0041⟩"]);
});

test("ordinary text stays as it is", () => {
  for (const text of ["plain", "tab\tand\nline", "größe 漢字 שלום 😀 ⚠️", ""]) {
    assert.deepEqual(marked(text), []);
    assert.equal(pieces(text).map((piece) => piece.text).join(""), text);
  }
});

test("a space that is none is marked in a payload and kept in prose", () => {
  assert.deepEqual(marked("rm\u00A0-rf"), ["⟨U+00A0⟩"]);
  assert.deepEqual(marked("quoi\u00A0?", { prose: true }), []);
});

test("one line shows its line breaks", () => assert.equal(visible("a\n  b\u200B"), "a ⏎ b⟨U+200B⟩"));

test("a long text keeps both ends, and nothing is lost between", () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const { head, middle, tail, between } = thirds(lines.join("\n"));
  assert.equal([head, middle, tail].join("\n"), lines.join("\n"));
  assert.equal(head.split("\n").length, 12);
  assert.equal(tail.split("\n").length, 6);
  assert.equal(between, 12);
  assert.equal(thirds("short").middle, null);
});

test("numbers that the browser rounded are found", () => {
  assert.equal(isRounded(JSON.parse('{"a":[{"id":9007199254740993}]}')), true);
  assert.equal(isRounded({ a: [1, 2.5, "9007199254740993", null] }), false);
});

test("ages, spans and folders", () => {
  const now = Date.parse("2026-01-31T14:00:00Z");
  assert.equal(age("2026-01-31T13:59:30Z", now), "now");
  assert.equal(age("2026-01-31T13:56:00Z", now), "4m");
  assert.equal(age("2026-01-31T12:00:00Z", now), "2h");
  assert.equal(age("2026-01-27T12:00:00Z", now), "4d");
  assert.deepEqual([3000, 360_000, 7_200_000, 259_200_000].map(span), ["3 s", "6 min", "2 h", "3 days"]);
  assert.equal(folder(`/${"home"}/ana/code/shop-api`), "~/code/shop-api");
  assert.equal(folder("/srv/shop"), "/srv/shop");
});
