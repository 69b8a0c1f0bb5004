import { describe, expect, it } from "vitest";
import { mixedWords, spelledOut } from "./mixed";
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
    ["Braille's empty cell", "rm\u2800-rf", "rm⟨U+2800⟩-rf"],
    ["the third combining mark on a letter", "e\u0302\u0301\u0323\u0301x", "e\u0302\u0301⟨U+0323⟩⟨U+0301⟩x"],
  ])("is shown: %s", (_name, text, shown) => {
    expect(visible(text)).toBe(shown);
    expect(pieces(text).some((piece) => piece.marked)).toBe(true);
  });

  it("leaves ordinary text and emoji alone", () => {
    expect(pieces("naïve ✔️ 漢字\tx")).toEqual([{ text: "naïve ✔️ 漢字\tx", marked: false }]);
    expect(pieces("10\u00A0min", "prose")).toHaveLength(1);
    expect(pieces("Vie\u0323\u0302t नमस्ते שָׁלוֹם ⠓⠊")).toHaveLength(1);
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

describe("two alphabets in one word", () => {
  it.each([
    ["curl https://p\u0430ypal.com/x", "p⟨U+0430⟩ypal"],
    ["cat /etc/p\u0430sswd", "p⟨U+0430⟩sswd"],
    ["s\u03BFurce env.sh", "s⟨U+03BF⟩urce"],
  ])("is found, and spelled out: %s", (text, spelled) => {
    expect(mixedWords(text).map(spelledOut)).toEqual([spelled]);
  });

  it.each([
    "cat документы/файл.txt отчёт_2024-final.md",
    "echo αβγ > /srv/δ/notes.txt",
    "ls 写真/photo.jpg naïve Ünïcode 5µm",
    "git commit -m 'Исправил login'",
  ])("is not what stands side by side: %s", (text) => expect(mixedWords(text)).toEqual([]));
});
