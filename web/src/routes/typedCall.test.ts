import { expect, it } from "vitest";
import { typedCall } from "./typedCall";

it("takes a line for a command", () => {
  expect(typedCall(" git push && rm -rf dist ")).toEqual({
    toolName: "Bash",
    input: { command: "git push && rm -rf dist" },
  });
  expect(typedCall("echo {a,b}")).toEqual({ toolName: "Bash", input: { command: "echo {a,b}" } });
});

it("takes a tool's name and its input for a call of that tool", () => {
  expect(typedCall('Edit {"file_path": "a.rs"}')).toEqual({ toolName: "Edit", input: { file_path: "a.rs" } });
  expect(typedCall('mcp__x__run {"deep": {"a": 1}}')).toEqual({ toolName: "mcp__x__run", input: { deep: { a: 1 } } });
});
