import { describe, expect, it } from "vitest";
import type { Session } from "../api/generated";
import { approvalRequest, ask, formRequest, questionRequest, STORE } from "../test/asks";
import { session } from "../test/desk";
import {
  boxMeans,
  ending,
  fileName,
  headline,
  holdWords,
  lineOf,
  namesApart,
  origin,
  receipt,
  tone,
  waiting,
} from "./words";

describe("sessions of one name", () => {
  it("are told apart by the ends of their ids, and others keep their names", () => {
    const named = (sessionId: string, title: string) => ({ ...session(), sessionId, title });
    const sessions = [named("ses_1aaaa", "shop-api"), named("ses_2bbbb", "shop-api"), named("ses_3cccc", "docs")];
    expect([...namesApart(sessions).values()]).toEqual(["shop-api · aaaa", "shop-api · bbbb", "docs"]);
  });
});

const byAna = { by: "person", name: "Ana", surface: "web", interactionId: "int_1", promptId: "prm_1" } as const;
const settled = (settlement: string, response: object, more: object = {}) =>
  ({ state: "settled", settlement, response: { ...byAna, ...response }, seq: 3, ...more }) as never;

describe("a file", () => {
  it("is named as in its folder, and as it is where it lies elsewhere", () => {
    expect(fileName("/code/shop/src/a.rs", "/code/shop")).toBe("src/a.rs");
    for (const other of ["/code/shopping/a.rs", "/code/shop//etc/passwd", "/etc/passwd"])
      expect(fileName(other, "/code/shop")).toBe(other);
    expect(fileName("/code/shop/../x", "/code/shop")).toBe("../x");
  });
});

describe("a tool that failed", () => {
  it("is not told as an answer that was taken", () => {
    const submitted = { action: "submit", input: {} };
    const failed = ask(formRequest({ fields: [] }), settled("failed", submitted, { failure: "the disk is full" }));
    expect(receipt(failed)).toBe("Answered, but the tool failed: “the disk is full”, Ana in the browser");
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

describe("an ask that was taken back", () => {
  it("names who stopped it", () => {
    const closed = { ...ask(approvalRequest({}), { state: "closed", closing: "cancelled" } as never), closedBy: "Ana" };
    expect(receipt(closed)).toBe("Cancelled: Ana stopped it, not run");
  });
});

describe("an ask that stands in a terminal, too", () => {
  const request = approvalRequest({ origin: "attached" });
  const inTerminal = (answer: string, knownBy = "record") => ({ answer, knownBy }) as never;

  it("says where it can be answered", () => {
    expect(waiting(ask(request), "3 s")).toBe("Waiting for you, 3 s: here or in its terminal");
    expect(holdWords(ask(request), 0)).toBe("It waits here and in its terminal: the first answer counts.");
  });

  it("says who was faster, and how that is known", () => {
    const closed = { ...ask(request, { state: "closed", closing: "cancelled" } as never) };
    expect(receipt({ ...closed, inTerminal: inTerminal("allowed") })).toBe(
      "Allowed in the terminal: its own record says so",
    );
    expect(receipt({ ...closed, inTerminal: inTerminal("refused", "withdrawn") })).toBe(
      "Refused in the terminal: the program took its question back",
    );
  });

  it("tells an answer that came too late what happened", () => {
    const late = (answer: string) => ({ delivery: { delivery: "undeliverable", inTerminal: inTerminal(answer) } });
    const denied = ask(request, settled("denied", { action: "deny" }, late("allowed")));
    expect(receipt(denied)).toMatch(/too late: it was allowed in the terminal and ran$/);
    const approved = ask(request, settled("approved", { action: "approve", scope: "once" }, late("refused")));
    expect(receipt(approved)).toMatch(/too late: it was refused in the terminal, not run$/);
  });
});

describe("an ask's own words for what was decided", () => {
  const view = (summaryTemplate: string) => ({ completedView: { showInputs: false, summaryTemplate } });
  it("are filled for approvals, whatever was decided", () => {
    const request = approvalRequest({ input: { place: "eu" }, ...view("{{action}}: deploy to {{place}}{{x}}") });
    expect(receipt(ask(request, settled("denied", { action: "deny" })))).toMatch(
      /^Denied, “denied: deploy to eu\{\{x\}\}”/,
    );
    const edited = { action: "approve", scope: "once", editedInput: { place: "us" } };
    expect(receipt(ask(request, settled("approved", edited)))).toMatch(
      /^Approved once, with changes, “approved: deploy to us/,
    );
  });
  it("are filled for questions, and tell no secret", () => {
    const request = questionRequest(
      [STORE, { ...STORE, id: "pin", options: [], secret: true }],
      view("{{store}}, {{pin}}"),
    );
    const answers = [
      { questionId: "store", labels: ["SQLite"], other: "or a file" },
      { questionId: "pin", other: "1234" },
    ];
    expect(receipt(ask(request, settled("answered", { action: "submit", answers })))).toMatch(
      /^Answered Store: SQLite, or a file; .*••••, “SQLite, or a file, ••••”/,
    );
  });
  it("fill in what was done where no field has that name", () => {
    const field = { id: "action", label: "Action", type: "text" } as const;
    const submitted = { action: "submit", input: { action: "restart" } };
    const done = (form: never) =>
      receipt(ask(formRequest(form, view("It was {{action}}")), settled("answered", submitted)));
    expect(done({ fields: [field] } as never)).toMatch(/^Answered, “It was restart”/);
  });
});

describe("the headline of an approval", () => {
  const says = { toolName: "drop_database", input: { confirm: true }, agentSays: "List the tables, read only." };

  it("names the tool, and never says what the asker says about it", () => {
    expect(headline(approvalRequest(says))).toBe("Use drop_database");
    expect(headline(approvalRequest({ ...says, origin: "tool" }))).toBe("Agent asks for approval with drop_database");
    expect(headline(approvalRequest({ ...says, origin: "tool" }), "row")).toBe("drop_database: true");
    const asked = { ...says, origin: "caller", askedBy: { name: "deploy", surface: "api" } } as const;
    expect(headline(approvalRequest(asked))).toBe("Program deploy wants to run drop_database");
    expect(headline(approvalRequest(asked), "row")).toBe("Program deploy wants to run drop_database: true");
  });

  it("is a shell line for an agent's shell alone", () => {
    const line = { input: { command: "rm -rf /data", host: "prod" } };
    expect(headline(approvalRequest(line))).toBe("rm -rf /data");
    expect(headline(approvalRequest({ ...line, toolName: "mcp__ssh__run" }), "row")).toBe(
      "Use mcp__ssh__run: rm -rf /data",
    );
    const asked = { ...line, origin: "caller", askedBy: { name: "x", surface: "api" } } as const;
    expect(headline(approvalRequest(asked))).toBe("Program x wants to run Bash");
    expect(lineOf(approvalRequest(asked))).toBe(null);
  });

  it("is no edit because a program sends a diff", () => {
    const edit = { toolName: "wipe", input: { path: "README.md" }, preview: "+harmless" } as const;
    const asked = { ...edit, origin: "caller", askedBy: { name: "x", surface: "api" } } as const;
    expect(headline(approvalRequest(asked))).toBe("Program x wants to run wipe");
  });

  it("says so where an ask is of a kind that the page does not know", () => {
    const unknown = { ...approvalRequest({}), kind: "hologram" } as never;
    expect(headline(unknown)).toBe("An ask that this page cannot show");
    const broken = { ...approvalRequest({}), kind: "question", questions: null } as never;
    expect(headline(broken, "row")).toBe("An ask that this page cannot show");
  });

  it("says that a script ends with what is marked only if that is its last line", () => {
    const script = "set -eu\nrm -rf /srv/old\necho moved\n";
    expect(ending(script, ["rm -rf /srv/old"]).lead).toBe("Run a 3-line script. It has");
    expect(ending("set -eu\nrm -rf /srv/old\n", ["rm -rf /srv/old"]).lead).toBe("Run a 2-line script. It ends with");
  });
});
