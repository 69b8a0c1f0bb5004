import { describe, expect, it } from "vitest";
import type { Event, EventBody } from "../api/generated";
import { approvalRequest } from "../test/asks";
import { askIn, emptyTranscript, fold, type Transcript } from "./transcript";

const events = (...bodies: EventBody[]): Event[] =>
  bodies.map((body, at) => ({ id: `evt_${at}`, seq: at + 1, at: "2026-01-31T14:02:00Z", ...body }) as Event);
const read = (...bodies: EventBody[]) => fold(emptyTranscript(), events(...bodies));
const delta = (text: string, messageId = "m1"): EventBody => ({
  type: "text_delta",
  data: { turnId: "t1", messageId, text },
});
const start: EventBody = {
  type: "tool_call_start",
  data: { turnId: "t1", messageId: "m1", toolCallId: "c1", toolName: "Bash" },
};
const piece = (text: string): EventBody => ({
  type: "tool_call_delta",
  data: { turnId: "t1", toolCallId: "c1", text },
});
const end: EventBody = {
  type: "tool_call_end",
  data: { turnId: "t1", toolCallId: "c1", input: { command: "ls" } },
};

/** The same without what is only for finding things again. */
const shape = ({ items, agent, seq }: Transcript) => ({ items, agent, seq });

describe("a transcript", () => {
  it("is the same whether its events come at once or one by one, and whether some come twice", () => {
    const all = events(delta("a"), delta("b"), start, piece('{"com'), end, delta("c"), {
      type: "interaction_request",
      data: approvalRequest({ toolCallId: "c1" }),
    });
    const atOnce = fold(emptyTranscript(), all);
    const oneByOne = all.reduce((so, event) => fold(so, [event]), emptyTranscript());
    const doubled = all.reduce((so, event) => fold(fold(so, [event]), all), emptyTranscript());
    expect(shape(oneByOne)).toEqual(shape(atOnce));
    expect(shape(doubled)).toEqual(shape(atOnce));
  });

  it("changes nothing that was handed out", () => {
    const before = read(delta("a"), start);
    const copy = structuredClone(before);
    const after = fold(before, [{ ...events(delta(""), delta(""), piece("x"))[2] } as Event]);
    expect(before).toEqual(copy);
    expect(after.items[0]).toBe(before.items[0]);
    expect(after.items[1]).not.toBe(before.items[1]);
  });

  it("joins the deltas of a message until something else comes between", () => {
    const { items } = read(delta("I "), delta("look"), delta("other", "m2"), start, delta("again", "m2"));
    expect(items.map((item) => (item.kind === "text" ? item.text : item.kind))).toEqual([
      "I look",
      "other",
      "tool",
      "again",
    ]);
  });

  it("lets argument text only grow, until the complete input replaces it", () => {
    const growing = read(start, piece('{"command":'), piece('"l'));
    expect(growing.items[0]).toMatchObject({ streamed: '{"command":"l' });
    const complete = read(start, piece('{"command":'), end, piece("late"));
    expect(complete.items[0]).toMatchObject({ streamed: "", input: { value: { command: "ls" } } });
  });

  it("is of an agent that rests when its turn is done, and ended when its session is", () => {
    const runs: EventBody = { type: "session_status", data: { agent: "running" } };
    const ends: EventBody = { type: "session_status", data: { agent: "ended" } };
    const done: EventBody = { type: "done", data: { turnId: "t1", reason: "completed" } };
    expect(read(runs, delta("a")).agent).toBe("running");
    expect(read(runs, delta("a"), done).agent).toBe("idle");
    expect(read(runs, ends, done).agent).toBe("ended");
    expect(read(runs, ends, ends).items).toHaveLength(1);
  });

  it("shows an ask inside its tool's block, and a questionnaire as a block of its own", () => {
    const inside = read(start, { type: "interaction_request", data: approvalRequest({ toolCallId: "c1" }) });
    expect(inside.items).toHaveLength(1);
    const own = read(start, {
      type: "interaction_request",
      data: approvalRequest({ toolCallId: "c1", presentation: "questionnaire" }),
    });
    expect(own.items.map((item) => item.kind)).toEqual(["tool", "ask"]);
  });

  it("asks again at the place of the first showing", () => {
    const again = read({ type: "interaction_request", data: approvalRequest({}) }, delta("x"), {
      type: "interaction_request",
      data: approvalRequest({ promptId: "prm_2", attempt: 2 }),
    });
    expect(again.items.map((item) => item.kind)).toEqual(["ask", "text"]);
    expect(askIn(again, "int_1")).toMatchObject({ state: "open", seq: 3, request: { attempt: 2 } });
  });

  it("follows an ask to its delivery", () => {
    const told = read(
      { type: "interaction_request", data: approvalRequest({}) },
      {
        type: "interaction_response",
        data: {
          interactionId: "int_1",
          promptId: "prm_1",
          by: "person",
          name: "ana",
          surface: "web",
          action: "approve",
          scope: "once",
          settlement: "approved",
        },
      },
      {
        type: "interaction_update",
        data: { interactionId: "int_1", promptId: "prm_1", change: "delivery", delivery: "acknowledged" },
      },
    );
    expect(askIn(told, "int_1")).toMatchObject({
      state: "settled",
      settlement: "approved",
      delivery: { delivery: "acknowledged" },
    });
  });

  it("knows a tool that failed, and why", () => {
    const ask: EventBody = { type: "interaction_request", data: approvalRequest({ hasHandler: true }) };
    const settled: EventBody = {
      type: "interaction_update",
      data: {
        interactionId: "int_1",
        promptId: "prm_1",
        change: "settled",
        settlement: "failed",
        failure: "the disk is full",
      },
    };
    expect(askIn(read(ask, settled), "int_1")).toMatchObject({ settlement: "failed", failure: "the disk is full" });
  });

  it("knows who stopped a turn, its asks, and the session", () => {
    const ask: EventBody = { type: "interaction_request", data: approvalRequest({}) };
    const closed: EventBody = {
      type: "interaction_closed",
      data: { interactionId: "int_1", promptId: "prm_1", closing: "cancelled", by: "Ana" },
    };
    const done: EventBody = { type: "done", data: { turnId: "trn_1", reason: "interrupted", by: "Ana" } };
    const ended: EventBody = { type: "session_status", data: { agent: "ended", by: "Ben" } };
    const told = read(ask, closed, done, ended);
    expect(askIn(told, "int_1")).toMatchObject({ closing: "cancelled", closedBy: "Ana" });
    expect(told.items).toContainEqual(expect.objectContaining({ kind: "done", by: "Ana" }));
    expect(told.items).toContainEqual(expect.objectContaining({ kind: "note", text: "Ben ended the session." }));
  });

  it("tells a rule's words as Holdstead's, and what people set", () => {
    const start: EventBody = {
      type: "session_initialised",
      data: {
        turnId: "trn_1",
        context: [{ layer: "organisation", line: 1, words: "Commits need a ticket" }],
        notKept: [{ layer: "person", text: "deny Stop" }],
      },
    };
    const rule = { layer: "person", text: "deny Stop" } as const;
    const blocked: EventBody = {
      type: "turn_end_blocked",
      data: { turnId: "trn_1", attempt: 2, rule, words: "Run the tests" },
    };
    const set: EventBody = {
      type: "variables_set",
      data: { name: "Ana", variables: { phase: "release", ready: false, old: null } },
    };
    const shown = read(start, blocked, set).items.map((item) => ("text" in item ? `${item.kind}: ${item.text}` : ""));
    expect(shown).toEqual([
      "note: Holdstead told the agent (rule of organisation): Commits need a ticket",
      "error: This agent cannot be kept from ending its turn: deny Stop",
      "note: A rule kept the turn from ending (2): Run the tests",
      "note: Ana set $phase to release, set $ready to false, removed $old.",
    ]);
  });

  it("takes an ask for parked while its agent is", () => {
    const ask: EventBody = { type: "interaction_request", data: approvalRequest({}) };
    const parked: EventBody = { type: "session_status", data: { agent: "parked" } };
    expect(askIn(read(ask, parked), "int_1")?.parked).toBe(true);
    expect(askIn(read(ask, parked, { type: "session_status", data: { agent: "running" } }), "int_1")?.parked).toBe(
      false,
    );
  });

  it("does not stumble over an event that it does not know", () => {
    const odd = { type: "from_the_future", data: {} } as unknown as EventBody;
    expect(read(odd, delta("still here")).items).toHaveLength(1);
  });
});
