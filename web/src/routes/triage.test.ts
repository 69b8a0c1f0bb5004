import { describe, expect, it } from "vitest";
import type { Interaction } from "../api/generated";
import { approvalRequest, ask } from "../test/asks";
import { idOf, nextFrom, triage } from "./triage";

const one = (id: string, sessionId: string, command = id): Interaction =>
  ask(approvalRequest({ interactionId: id, promptId: `prm_${id}`, input: { command } }), {
    state: "open",
    sessionId,
  } as never);
const names = (rows: Interaction[][]) => rows.map((row) => row.map(idOf).join("+"));
const rowsOf = (asks: Interaction[], apart: string[] = []) =>
  triage(asks, new Set(apart)).flatMap((group) => group.rows);

describe("the list", () => {
  it("is grouped by session, the one that waits longest first", () => {
    const groups = triage([one("a1", "a"), one("b1", "b"), one("a2", "a")], new Set());
    expect(groups.map((group) => [group.sessionId, names(group.rows)])).toEqual([
      ["a", ["a1", "a2"]],
      ["b", ["b1"]],
    ]);
  });

  it("has alike asks in one row, until they are gone through one by one", () => {
    const asks = ["1", "2", "3"].map((at) => one(at, "a", `touch x/${at}`));
    expect(names(rowsOf(asks))).toEqual(["1+2+3"]);
    expect(names(rowsOf(asks, ["1", "2", "3"]))).toEqual(["1", "2", "3"]);
  });
});

describe("after an answer", () => {
  const all = [one("a1", "a"), one("a2", "a"), one("b1", "b"), one("c1", "c")];
  const next = (gone: string, still: string[]) => {
    const row = nextFrom(rowsOf(all), gone, rowsOf(all.filter((ask) => still.includes(idOf(ask)))));
    return row && names([row])[0];
  };
  it("comes the next one below, of this session first", () => {
    expect(next("a1", ["a2", "b1", "c1"])).toBe("a2");
    expect(next("a2", ["a1", "b1", "c1"])).toBe("b1");
  });
  it("at the end comes the last one above, not the oldest", () => {
    expect(next("c1", ["a1", "a2", "b1"])).toBe("b1");
  });
  it("those that went meanwhile are passed over", () => {
    expect(next("a1", ["c1"])).toBe("c1");
    expect(next("a1", [])).toBeNull();
  });
  it("it is not the answered one, also while the list still has it", () => {
    expect(next("a1", ["a1", "a2"])).toBe("a2");
    expect(next("a1", ["a1"])).toBeNull();
  });
});
