import { describe, expect, it } from "vitest";
import type { Interaction } from "../api/generated";
import { approvalRequest, ask } from "../test/asks";
import { merge, mergeSnapshot, waitingAsks } from "./inbox";

const one = (id: string, seq: number, state: Parameters<typeof ask>[1] = { state: "open" }) =>
  ask(approvalRequest({ interactionId: id }), { seq, openedAt: "2026-01-31T14:00:00Z", ...state });

describe("the inbox", () => {
  it("believes the higher seq, in whatever order they come", () => {
    const settled = one("int_a", 5, { state: "settled", settlement: "denied" } as never);
    for (const order of [
      [one("int_a", 2), settled],
      [settled, one("int_a", 2)],
    ]) {
      expect(order.reduce(merge, new Map() as ReadonlyMap<string, Interaction>).get("int_a")).toBe(settled);
    }
  });

  it("finds out what ended while it was not connected", () => {
    const known = [one("int_a", 1), one("int_b", 1)].reduce(merge, new Map() as ReadonlyMap<string, Interaction>);
    expect(mergeSnapshot(known, [one("int_b", 1), one("int_c", 1)]).ended).toEqual(["int_a"]);
  });

  it("lists what waits, oldest first", () => {
    const asks = [
      one("int_b", 1, { state: "open", openedAt: "2026-01-31T15:00:00Z" }),
      one("int_a", 1, { state: "queued", openedAt: "2026-01-31T14:00:00Z" }),
      one("int_c", 1, { state: "closed", closing: "expired" } as never),
    ].reduce(merge, new Map() as ReadonlyMap<string, Interaction>);
    const waiting = waitingAsks({ asks, connected: true, ready: true });
    expect(waiting.map((each) => each.request.interactionId)).toEqual(["int_a", "int_b"]);
  });
});
