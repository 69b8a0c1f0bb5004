import { describe, expect, it } from "vitest";
import { ask, formRequest } from "../test/asks";
import { session } from "../test/desk";
import { namesApart, receipt, tone } from "./words";

describe("sessions of one name", () => {
  it("are told apart by the ends of their ids, and others keep their names", () => {
    const named = (sessionId: string, title: string) => ({ ...session(), sessionId, title });
    const sessions = [named("ses_1aaaa", "shop-api"), named("ses_2bbbb", "shop-api"), named("ses_3cccc", "docs")];
    expect([...namesApart(sessions).values()]).toEqual(["shop-api · aaaa", "shop-api · bbbb", "docs"]);
  });
});

describe("a tool that failed", () => {
  it("is not told as an answer that was taken", () => {
    const settled = { state: "settled", settlement: "answered", seq: 3 } as const;
    const failed = { ...ask(formRequest({ fields: [] }), settled), toolFailed: true };
    expect(receipt(failed)).toBe("Answered, but the tool failed");
    expect(tone(failed)).toBe("denied");
  });
});
