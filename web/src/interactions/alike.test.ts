import { describe, expect, it } from "vitest";
import type { Interaction } from "../api/generated";
import { approvalRequest, ask } from "../test/asks";
import { cutAt, differsAt, together } from "./alike";

let made = 0;
const run = (command: string, change: object = {}, state: object = {}): Interaction => {
  made += 1;
  const request = approvalRequest({
    interactionId: `int_${made}`,
    promptId: `prm_${made}`,
    input: { command },
    ...change,
  });
  return ask(request, { state: "open", ...state } as never);
};
const commands = (rows: Interaction[][]) =>
  rows.map((row) => row.map((one) => (one.request.input as { command: string }).command));
const apply = (target: string) => run(`terraform apply -auto-approve -target=module.${target}`);

describe("asks that are alike", () => {
  it("differ in one argument and stand together where the first stood", () => {
    const rows = together([apply("eu"), run("npm test"), apply("us"), apply("ap")]);
    expect(commands(rows)).toEqual([
      ["eu", "us", "ap"].map((target) => `terraform apply -auto-approve -target=module.${target}`),
      ["npm test"],
    ]);
    expect(differsAt(rows[0] ?? [])).toBe(3);
  });

  it("are at least three", () => {
    expect(together([apply("eu"), apply("us")])).toHaveLength(2);
  });

  it.each([
    ["another subcommand", ["terraform apply x", "terraform destroy x", "terraform plan x"]],
    ["another program", ["cat a.txt", "tac a.txt", "wc a.txt"]],
    ["a word that may be a subcommand", ["npm test", "npm publish", "npm unpublish"]],
    ["another flag", ["git push origin --tags", "git push origin --force", "git push origin --all"]],
    ["a flag in place of a value", ["make build all", "make build -B", "make build tidy"]],
    ["two arguments at once", ["cp a/1 b/1", "cp a/2 b/2", "cp a/3 b/3"]],
    ["a third that differs elsewhere", ["scp x.txt h:1 -v", "scp x.txt h:2 -v", "scp y.txt h:1 -v"]],
    ["another length", ["touch a/1", "touch a/2", "touch a/3 a/4"]],
    ["operators", ["ls a && rm 1", "ls a && rm 2", "ls a && rm 3"]],
    ["expansions", ["echo x $A", "echo x $B", "echo x $(id)"]],
    ["quotes", ["echo x 'a'", "echo x 'b'", "echo x 'c'"]],
    ["lines", ["echo x a\nrm b", "echo x b\nrm b", "echo x c\nrm b"]],
    ["a space that is none", ["echo x a\u00a0b", "echo x b\u00a0b", "echo x c\u00a0b"]],
  ])("are not those with %s", (_what, lines) => {
    expect(together(lines.map((line) => run(line)))).toHaveLength(3);
  });

  it.each([
    ["marked", { marks: [{ risk: "deletes", field: "/command", text: "x" }] }, {}],
    ["asked again", { attempt: 2, error: "no" }, {}],
    ["perhaps run before", { mayHaveRun: true }, {}],
    ["shown in part only", {}, { cut: { bytes: 9 } }],
    ["of another session", {}, { sessionId: "ses_2" }],
    ["of a subagent", { parents: ["tester"] }, {}],
    ["in another folder", { cwd: "/tmp" }, {}],
    ["with another input beside the command", { input: { command: "touch a/3", sandbox: false } }, {}],
    ["answered", {}, { state: "submitted" }],
  ])("are never one that is %s", (_what, change, state) => {
    const rows = together([run("touch a/1"), run("touch a/2"), run("touch a/4"), run("touch a/3", change, state)]);
    expect(rows.map((row) => row.length)).toEqual([3, 1]);
  });

  it("may be told apart by what the agent says of each", () => {
    const told = (at: number) => run("x", { input: { command: `touch a/${at}`, description: `Makes ${at}` } });
    expect(together([told(1), told(2), told(3)])).toHaveLength(1);
  });

  it("are at most so many in a row", () => {
    const rows = together(Array.from({ length: 45 }, (_, at) => run(`touch a/${at}`)));
    expect(rows.map((row) => row.length)).toEqual([20, 20, 5]);
  });
});

describe("what differs in a command", () => {
  it.each([
    ["terraform apply -target=module.eu -x", 2, ["terraform apply -target=", "module.eu", " -x"]],
    ["touch a/1", 1, ["touch ", "a/1", ""]],
    ["make build all now", 2, ["make build ", "all", " now"]],
  ])("of %s is cut out, and all of it is there", (command, at, parts) => {
    expect(cutAt(command, at)).toEqual(parts);
    expect(cutAt(command, at).join("")).toBe(command);
  });
});
