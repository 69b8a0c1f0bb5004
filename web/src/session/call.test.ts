import { describe, expect, it } from "vitest";
import type { Event, EventBody } from "../api/generated";
import { approvalRequest } from "../test/asks";
import { callLine, fileIn, iconOf, outcome, ranFor } from "./call";
import { emptyTranscript, fold, type ToolItem } from "./transcript";

const START = Date.parse("2026-01-31T14:02:00Z");
/** Each event so many seconds after the first. */
function tool(...events: [seconds: number, body: EventBody][]): ToolItem {
  const read = events.map(
    ([seconds, body], at) =>
      ({ id: `evt_${at}`, seq: at + 1, at: new Date(START + seconds * 1000).toISOString(), ...body }) as Event,
  );
  const [item] = fold(emptyTranscript(), read).items;
  if (item?.kind !== "tool") throw new Error("The first item is no call.");
  return item;
}
const start = (toolName = "Bash"): EventBody => ({
  type: "tool_call_start",
  data: { turnId: "t1", messageId: "m1", toolCallId: "c1", toolName },
});
const end = (input: unknown): EventBody => ({ type: "tool_call_end", data: { turnId: "t1", toolCallId: "c1", input } });
const result = (isError = false): EventBody => ({
  type: "tool_result",
  data: { turnId: "t1", toolCallId: "c1", output: "ok", isError },
});
const asks: EventBody = { type: "interaction_request", data: approvalRequest({ toolCallId: "c1" }) };
const answers = (settlement: "approved" | "denied"): EventBody => ({
  type: "interaction_response",
  data: {
    interactionId: "int_1",
    promptId: "prm_1",
    by: "person",
    name: "Ana",
    surface: "web",
    ...(settlement === "approved" ? { action: "approve", scope: "once" } : { action: "deny" }),
    settlement,
  },
});
const words = (item: ToolItem) => outcome(item).map((said) => `${said.tone}: ${said.text}`);

describe("a call on one line", () => {
  it("leads with the command, or with the file and what changes in it", () => {
    expect(callLine(tool([0, start()], [0, end({ command: "cargo test -p auth" })]), null)).toBe("cargo test -p auth");
    const edit = tool(
      [0, start("Edit")],
      [0, end({ file_path: "/w/src/a.rs", old_string: "a\nb", new_string: "a\nc\nd" })],
    );
    expect(callLine(edit, "/w")).toBe("src/a.rs +2 −1");
    expect(callLine(tool([0, start("Read")], [0, end({ path: "src/main.rs" })]), null)).toBe("Read src/main.rs");
    expect(callLine(tool([0, start("Weird")], [0, end({ x: 1 })]), null)).toBe("Weird 1");
    expect(callLine(tool([0, start("Weird")]), null)).toBe("Weird");
  });

  it("hides nothing that cannot be seen", () => {
    expect(callLine(tool([0, start()], [0, end({ command: "ls \u202e\nrm" })]), null)).toBe("ls ⟨U+202E⟩ ⏎ rm");
  });

  it("names files from the session's folder on, and only those in it", () => {
    expect(fileIn("/w/src/a.rs", "/w")).toBe("src/a.rs");
    expect(fileIn("/srv/a.rs", "/w")).toBe("/srv/a.rs");
    expect(fileIn("/Users/ana/a.rs", "/w")).toBe("~/a.rs");
  });

  it("has a mark by what it does", () => {
    expect(iconOf(tool([0, start("Bash")], [0, end({ command: "ls" })]))).toBe("shell");
    expect(iconOf(tool([0, start("X")], [0, end({ file_path: "a", content: "b" })]))).toBe("edit");
    expect(iconOf(tool([0, start("X")], [0, end({ file_path: "a" })]))).toBe("find");
    expect(iconOf(tool([0, start("Bash")], [0, end({ x: 1 })]))).toBe("tool");
  });
});

describe("what became of a call", () => {
  it("ran from the answer on, not from the question", () => {
    const item = tool(
      [0, start()],
      [1, end({ command: "ls" })],
      [2, asks],
      [42, answers("approved")],
      [50.4, result()],
    );
    expect(ranFor(item)).toBe(8_400);
    expect(words(item)).toEqual(["plain: 8.4 s", "good: ✓ Ana, 40 s"]);
  });

  it("is named with who refused it; the agent's error about that is no failure", () => {
    const item = tool([0, start()], [1, end({})], [2, asks], [14, answers("denied")], [15, result(true)]);
    expect(words(item)).toEqual(["bad: ✕ Ana, 12 s"]);
  });

  it("waits while nobody has answered, and says when nobody did", () => {
    const open = tool([0, start()], [1, end({})], [2, asks]);
    expect(words(open)).toEqual(["waits: waits for you"]);
    const closed: EventBody = {
      type: "interaction_closed",
      data: { interactionId: "int_1", promptId: "prm_1", closing: "expired" },
    };
    expect(words(tool([0, start()], [1, end({})], [2, asks], [9, closed]))).toEqual(["plain: no answer"]);
  });

  it("says that a rule decided, and that it failed", () => {
    const verdict = { effect: "allow", parts: [] } as const;
    const allowed: EventBody = {
      type: "tool_call_end",
      data: {
        turnId: "t1",
        toolCallId: "c1",
        input: {},
        decision: { by: "rules", told: "allowed", verdict: { ...verdict, parts: [] } },
      },
    };
    expect(words(tool([0, start()], [1, allowed], [21, result(true)]))).toEqual([
      "bad: failed",
      "plain: 20 s",
      "plain: allowed by rule",
    ]);
  });
});
