import { describe, expect, it } from "vitest";
import { ExactNumber, isRounded, parseExact } from "./exact";

const keepsDigits = "rawJSON" in JSON;

describe("exact numbers", () => {
  it("are plain numbers where a browser can hold them", () => {
    expect(parseExact('{"a":1,"b":-2.5,"c":1.50,"d":9007199254740991}')).toEqual({
      a: 1,
      b: -2.5,
      c: 1.5,
      d: 9007199254740991,
    });
  });

  it.runIf(keepsDigits)("keep their digits, there and back", () => {
    const text = '{"id":9007199254740993,"x":0.12345678901234567891,"big":1e400}';
    const value = parseExact(text) as Record<string, unknown>;
    expect(value.id).toBeInstanceOf(ExactNumber);
    expect(JSON.stringify(value)).toBe(text);
    expect(isRounded(value)).toBe(false);
  });

  it("that were rounded are found", () => {
    expect(isRounded({ deep: [JSON.parse("9007199254740993")] })).toBe(true);
    expect(isRounded({ deep: [1, "9007199254740993", null] })).toBe(false);
  });
});
