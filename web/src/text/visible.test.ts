import { describe, expect, it } from "vitest";
import { pieces, plain, thirds, visible } from "./visible";

describe("what cannot be seen", () => {
  it.each([
    ["right-to-left override", "a\u202Eb", "a⟨U+202E⟩b"],
    ["zero width space", "rm\u200B -rf", "rm⟨U+200B⟩ -rf"],
    ["escape", "\u001B[31mred", "⟨U+001B⟩[31mred"],
    ["no-break space in a command", "rm\u00A0x", "rm⟨U+00A0⟩x"],
    ["tag characters", "a\u{E0041}", "a⟨U+E0041⟩"],
    ["carriage return", "safe\rrm", "safe⟨U+000D⟩rm"],
    ["a lone surrogate", "a\uD800b", "a⟨U+D800⟩b"],
  ])("is shown: %s", (_name, text, shown) => {
    expect(visible(text)).toBe(shown);
    expect(pieces(text).some((piece) => piece.marked)).toBe(true);
  });

  it("leaves ordinary text and emoji alone", () => {
    expect(pieces("naïve ✔️ 漢字\tx")).toEqual([{ text: "naïve ✔️ 漢字\tx", marked: false }]);
    expect(pieces("10\u00A0min", "prose")).toHaveLength(1);
  });

  it("puts lines on one", () => expect(visible("a\n  b")).toBe("a ⏎ b"));
});

describe("long text", () => {
  it("keeps both ends in sight and loses nothing", () => {
    const text = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
    const { head, middle, tail, between } = thirds(text);
    expect([head, middle, tail].join("\n")).toBe(text);
    expect(head.split("\n")).toHaveLength(12);
    expect(tail.split("\n")).toHaveLength(6);
    expect(between).toBe(22);
  });

  it("is JSON where it is not text", () => expect(plain({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}'));
});
