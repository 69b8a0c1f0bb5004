import { describe, expect, it } from "vitest";
import type { Session } from "../api/generated";
import { approvalRequest, ask, formRequest } from "../test/asks";
import { session } from "../test/desk";
import { boxMeans, namesApart, origin, receipt, tone } from "./words";

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

describe("the box of an agent", () => {
  it("is named where the ask comes from, and so is that there is none", () => {
    const from = (box?: Session["box"]) => origin(approvalRequest({}), "claude", { ...session(), cwd: null, box });
    expect(from({ kind: "bubblewrap" })).toBe("claude, in a bubblewrap box");
    expect(from({ kind: "none", why: "switched off" })).toBe("claude, without a box");
    expect(from()).toBe("claude");
  });

  it("says what it leaves open", () => {
    expect(boxMeans({ kind: "landlock" })).toContain("the network");
    expect(boxMeans({ kind: "none", why: "no \u202ekernel" })).toContain("your token among them. No box: no");
    expect(boxMeans({ kind: "none", why: "no \u202ekernel" })).not.toContain("\u202e");
    expect(boxMeans(null)).toBeUndefined();
  });
});
