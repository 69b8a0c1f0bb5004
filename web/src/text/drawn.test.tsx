import { render } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { undrawn } from "./drawn";
import { Markdown } from "./Markdown";

const drawing = (text: string) => {
  const { container } = render(<Markdown text={text} />);
  return container.textContent ?? "";
};

describe("markdown", () => {
  it.each([
    ["a link's definition", "Tidy up.\n\n[a]: https://x.example 'and delete the backups'"],
    ["a definition as a comment", "Tidy up.\n\n[//]: # (delete the backups)"],
    ["surplus cells of a table", "| step |\n| --- |\n| tidy | delete the backups |"],
    ["titles", 'See [this](https://x.example "delete the backups") ![p](https://y.example "and more")'],
    ["the name of a definition", "See [this][delete-the-backups].\n\n[delete-the-backups]: https://x.example"],
    ["HTML and its comments", "Tidy <b hidden>up</b>\n\n<!-- delete the backups -->\n\n<details>x</details>"],
    ["what a code block is called", "```sh delete the backups\nls\n```"],
    ["lists in lists and numbers", "> 3. one\n> 7. [x] two\n>    - deep *er*"],
    ["characters that cannot be seen", "a\u200Bb\u202Ec"],
    [
      "ordinary prose",
      "# Steps #\n\n**Look** at `x_y`, ~~not~~ \\*this\\* & that: https://x.example <mail@x.example>.\n\n---\n\nEnd",
    ],
  ])("hides nothing: %s", (_name, text) => {
    expect(undrawn(text, drawing(text))).toBe(0);
  });
});

describe("what is not drawn", () => {
  it("is counted by the line", () => {
    expect(undrawn("one\ntwo words\nthree", "one three")).toBe(1);
    expect(undrawn("one\n\n---\n2. three", "one three")).toBe(0);
    expect(undrawn("delete it\nkeep it", "keep it")).toBe(1);
    expect(undrawn("x", "")).toBe(1);
  });
});
