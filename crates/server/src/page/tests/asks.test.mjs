import assert from "node:assert/strict";
import test from "node:test";
import { isNews, merge, mergeSnapshot, openAsks } from "../asks.js";

const ask = (interactionId, seq, state = "open", openedAt = "2026-01-31T14:00:00Z") =>
  ({ seq, state, openedAt, request: { interactionId } });

test("the higher seq wins, whichever comes first", () => {
  const settledFirst = merge(merge(new Map(), ask("a", 9, "settled")), ask("a", 4));
  assert.equal(settledFirst.get("a").state, "settled");
  const openFirst = merge(merge(new Map(), ask("a", 4)), ask("a", 9, "settled"));
  assert.equal(openFirst.get("a").state, "settled");
});

test("the time of an answer survives a newer view that lacks it", () => {
  const asks = merge(new Map(), { ...ask("a", 9, "settled"), respondedAt: "t" });
  assert.equal(merge(asks, ask("a", 10, "settled")).get("a").respondedAt, "t");
});

test("an ask that a snapshot lacks has ended", () => {
  const before = merge(merge(new Map(), ask("a", 1)), ask("b", 1));
  const { asks, ended } = mergeSnapshot(before, [ask("b", 2), ask("c", 1)]);
  assert.deepEqual(ended, ["a"]);
  assert.equal(asks.get("b").seq, 2);
  assert.equal(asks.size, 3);
});

test("only news is fetched", () => {
  const asks = merge(new Map(), ask("a", 4));
  assert.equal(isNews(asks, { interactionId: "a", seq: 4 }), false);
  assert.equal(isNews(asks, { interactionId: "a", seq: 5 }), true);
  assert.equal(isNews(asks, { interactionId: "b", seq: 1 }), true);
});

test("what waits is listed oldest first", () => {
  const asks = [ask("a", 1, "open", "2026-01-31T14:05:00Z"), ask("b", 1, "queued"), ask("c", 1, "settled"), ask("d", 1)].reduce(merge, new Map());
  assert.deepEqual(openAsks(asks).map((one) => one.request.interactionId), ["b", "d", "a"]);
});

test("a receipt that comes after newer news still brings its time", () => {
  const asks = merge(merge(new Map(), ask("a", 10, "settled")), { ...ask("a", 9, "settled"), respondedAt: "t" });
  assert.deepEqual([asks.get("a").seq, asks.get("a").respondedAt], [10, "t"]);
});
