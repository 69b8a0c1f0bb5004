import { expect, it } from "vitest";
import type { Event, EventBody } from "../api/generated";
import { approvalRequest } from "../test/asks";
import { factsOf } from "./facts";
import { emptyTranscript, fold } from "./transcript";

const edit = (toolCallId: string, file_path: string, isError = false): EventBody[] => [
  { type: "tool_call_start", data: { turnId: "t1", messageId: "m1", toolCallId, toolName: "Edit" } },
  {
    type: "tool_call_end",
    data: { turnId: "t1", toolCallId, input: { file_path, old_string: "a", new_string: "b\nc" } },
  },
  { type: "tool_result", data: { turnId: "t1", toolCallId, output: "ok", isError } },
];
const read = (...bodies: EventBody[]) =>
  fold(
    emptyTranscript(),
    bodies.map((body, at) => ({ id: `evt_${at}`, seq: at + 1, at: `2026-01-31T14:0${at % 10}:00Z`, ...body }) as Event),
  );

it("adds up what was changed in each file, and leaves out what failed", () => {
  const { files } = factsOf(
    read(...edit("c1", "a.rs"), ...edit("c2", "b.rs"), ...edit("c3", "a.rs"), ...edit("c4", "c.rs", true)),
  );
  expect(files).toEqual([
    { path: "a.rs", added: 4, removed: 2 },
    { path: "b.rs", added: 2, removed: 1 },
  ]);
});

it("lists asks newest first, each once, and how long people took", () => {
  const ask = (interactionId: string): EventBody => ({
    type: "interaction_request",
    data: approvalRequest({ interactionId }),
  });
  const answer: EventBody = {
    type: "interaction_response",
    data: {
      interactionId: "int_1",
      promptId: "prm_1",
      by: "person",
      name: "Ana",
      surface: "web",
      action: "deny",
      settlement: "denied",
    },
  };
  const { asks, waitedMs } = factsOf(read(ask("int_1"), ask("int_2"), answer, ask("int_2")));
  expect(asks.map((one) => one.request.interactionId)).toEqual(["int_2", "int_1"]);
  expect(waitedMs).toBe(120_000);
});
