import { describe, expect, it } from "vitest";
import type { Interaction } from "../api/generated";
import { approvalRequest, ask } from "../test/asks";
import { InboxFeed, merge, mergeSnapshot, waitingAsks } from "./inbox";

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

  it("keeps an ask whole when a list shows a part of it, and never the other way round", () => {
    const cut = (seq: number, promptId: string) => {
      const part = one("int_a", seq);
      return { ...part, request: { ...part.request, promptId, toolName: "cut" }, cut: { bytes: 9_000_000 } };
    };
    const full = one("int_a", 2);
    const known = new Map([["int_a", full]]);
    const later = merge(known, cut(3, full.request.promptId)).get("int_a");
    expect([later?.seq, later?.cut, later?.request]).toEqual([3, undefined, full.request]);
    expect(merge(known, cut(3, "another showing")).get("int_a")?.cut).toEqual({ bytes: 9_000_000 });
    expect(merge(new Map([["int_a", cut(2, "p")]]), full).get("int_a")).toBe(full);
  });

  it("shows every page of a long snapshot, and takes nothing for ended before the last", async () => {
    const asked: string[] = [];
    const told: string[] = [];
    const pages: Record<string, Interaction[]> = { p2: [one("int_b", 1)], p3: [one("int_c", 1)] };
    const feed = new InboxFeed({
      interaction: async (id) => {
        asked.push(id);
        return one(id, 9, { state: "closed", closing: "expired" } as never);
      },
      page: async (after) => ({ interactions: pages[after] ?? [], next: after === "p2" ? "p3" : null }),
      client: "tab",
      mode: () => "on",
      onRefused: () => {},
      onNew: (ask) => told.push(ask.request.interactionId),
      onChange: () => {},
    });
    feed.learn(one("int_c", 1));
    feed.learn(one("int_gone", 1));
    await feed.take({ event: "snapshot", data: JSON.stringify({ interactions: [one("int_a", 1)], next: "p2" }) });
    expect(waitingAsks(feed.view()).map((each) => each.request.interactionId)).toEqual(["int_a", "int_b", "int_c"]);
    expect(asked).toEqual(["int_gone"]);
    expect(told).toEqual([]);
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
