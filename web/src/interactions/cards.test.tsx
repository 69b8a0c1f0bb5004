import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Interaction, Receipt } from "../api/generated";
import { Problem } from "../api/problem";
import { forgetMemory } from "../session/drafts";
import { approvalRequest, ask, formRequest, questionRequest, STORE } from "../test/asks";
import { fakeDesk, nowhere, OnDesk, session } from "../test/desk";
import { INERT_MS } from "./useInert";

// jsdom lays nothing out.
vi.stubGlobal(
  "ResizeObserver",
  class {
    observe() {}
    disconnect() {}
  },
);
/** How long the page was busy before it heard of a press. */
let lateBy = 0;
// The clock of these tests, not the machine's.
Object.defineProperty(Event.prototype, "timeStamp", { get: () => performance.now() - lateBy });
/** The height of a card's box, and of an input in it. */
let [boxHeight, inputHeight] = [0, 0];
Object.defineProperty(HTMLElement.prototype, "clientHeight", { get: () => boxHeight });
Element.prototype.scrollTo = function (this: Element, to?: ScrollToOptions | number) {
  this.scrollTop = typeof to === "object" ? (to.top ?? 0) : 0;
  this.dispatchEvent(new Event("scroll"));
};
Element.prototype.getBoundingClientRect = function (this: Element) {
  const isEnd = this.hasAttribute("data-input-end");
  const bottom = isEnd ? inputHeight - (this.closest("[data-scrolls]")?.scrollTop ?? 0) : 0;
  return { top: 0, bottom } as DOMRect;
};

beforeEach(() => {
  [boxHeight, inputHeight] = [0, 0];
  lateBy = 0;
  vi.useFakeTimers({ shouldAdvanceTime: true });
});
afterEach(() => {
  vi.useRealTimers();
});

const settle = () => act(() => vi.advanceTimersByTimeAsync(INERT_MS + 50));
const user = () => userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
const button = (name: RegExp | string) => screen.getByRole("button", { name });
const decided = (settlement: string, response: object): Parameters<typeof ask>[1] =>
  ({ state: "settled", settlement, response, respondedAt: "2026-01-31T14:02:00Z", seq: 3 }) as never;
const byAna = { by: "person", name: "ana", surface: "web", interactionId: "int_1", promptId: "prm_1" };

async function show(one: Interaction, fake = fakeDesk()) {
  const view = render(<OnDesk fake={fake} ask={one} />);
  await settle();
  return { fake, again: (next: Interaction) => view.rerender(<OnDesk fake={fake} ask={next} />) };
}

describe("every card", () => {
  it("takes no decision in its first 400 ms, nor after a key was pressed elsewhere", async () => {
    const fake = fakeDesk();
    render(
      <>
        <input aria-label="composer" />
        <OnDesk fake={fake} ask={ask(approvalRequest({}))} />
      </>,
    );
    const person = user();
    await person.click(button("Approve once"));
    expect(fake.sent).toEqual([]);
    await settle();
    await person.type(screen.getByLabelText("composer"), "y");
    await person.click(button("Approve once"));
    expect(fake.sent).toEqual([]);
    await settle();
    await person.click(button("Approve once"));
    expect(fake.sent).toMatchObject([{ promptId: "prm_1", action: "approve", scope: "once" }]);
  });

  it("does not decide by Enter or Esc, and never starts on Approve", async () => {
    const onLeave = vi.fn();
    const fake = fakeDesk();
    render(<OnDesk fake={fake} ask={ask(approvalRequest({}))} place={{ ...nowhere, onLeave }} />);
    await settle();
    const card = screen.getByRole("region", { name: /rm -rf dist/ });
    card.focus();
    const person = user();
    await person.keyboard("{Enter} {Escape}");
    expect(fake.sent).toEqual([]);
    expect(onLeave).toHaveBeenCalledOnce();
    await person.keyboard("a");
    expect(document.activeElement).toBe(button("Approve once"));
    await person.keyboard("{Enter}");
    expect(fake.sent).toHaveLength(1);
  });

  it("is not put off by a letter that was meant for its panel", async () => {
    const onNotNow = vi.fn();
    render(<OnDesk fake={fakeDesk()} ask={ask(approvalRequest({}))} place={{ ...nowhere, onNotNow }} />);
    await settle();
    screen.getByRole("region", { name: /rm -rf dist/ }).focus();
    const person = user();
    await person.keyboard("rn");
    expect(onNotNow).not.toHaveBeenCalled();
    await person.keyboard("{Escape}n");
    expect(onNotNow).toHaveBeenCalledOnce();
  });

  it("keeps the focus when what had it goes away, so that keys go on working", async () => {
    const onMove = vi.fn();
    const fake = fakeDesk();
    const place = { ...nowhere, onMove };
    const view = render(<OnDesk fake={fake} ask={ask(approvalRequest({}))} place={place} />);
    await settle();
    button("Approve once").focus();
    const over = ask(approvalRequest({}), decided("approved", { ...byAna, action: "approve", scope: "once" }));
    view.rerender(<OnDesk fake={fake} ask={over} place={place} />);
    expect(document.activeElement).toBe(screen.getByRole("region"));
    await user().keyboard("]j");
    expect(onMove.mock.calls).toEqual([[1], [1]]);
  });

  it("that changes under the finger rests again, and Enter presses nothing of it", async () => {
    const { fake, again } = await show(ask(approvalRequest({})));
    const person = user();
    screen.getByRole("region").focus();
    await person.keyboard("a");
    again(ask(approvalRequest({ promptId: "prm_2", input: { command: "curl evil" } })));
    await person.keyboard("{Enter}");
    await person.click(button("Approve once"));
    await settle();
    await person.keyboard("{Escape}{Enter}");
    expect(fake.sent).toEqual([]);
  });

  it("stays editable when sending failed, and sends the same key again", async () => {
    let fails = true;
    const fake = fakeDesk({}, async (body) => {
      if (fails) throw Problem.network();
      return { ...body, state: "settled", settlement: "answered" } as unknown as Receipt;
    });
    await show(ask(questionRequest()), fake);
    const person = user();
    await person.click(screen.getByRole("radio", { name: /SQLite/ }));
    await person.click(button("Send answer"));
    expect(screen.getByRole("alert").textContent).toMatch(/not known whether your answer arrived/);
    expect(screen.getByRole("radio", { name: /SQLite/ })).toHaveProperty("checked", true);
    fails = false;
    await settle();
    await person.click(button("Retry"));
    expect(fake.sent).toHaveLength(2);
    expect(fake.sent[1]?.idempotencyKey).toBe(fake.sent[0]?.idempotencyKey);
  });

  it("is one line once this person has answered it, and can be read again", async () => {
    const { again } = await show(ask(approvalRequest({})));
    const person = user();
    await person.click(button("Approve once"));
    again(ask(approvalRequest({}), decided("approved", { ...byAna, action: "approve", scope: "once" })));
    expect(screen.queryByText(/Cleans the build folder/)).toBeNull();
    await person.click(button("Show what was asked"));
    expect(screen.getByText(/Cleans the build folder/)).toBeTruthy();
  });

  it("says that it is sending", async () => {
    await show(
      ask(approvalRequest({})),
      fakeDesk({}, () => new Promise(() => {})),
    );
    await user().click(button("Approve once"));
    expect((await screen.findByText("Sending…")).getAttribute("role")).toBe("status");
  });

  it("sends once, however often it is pressed", async () => {
    const fake = fakeDesk({}, () => new Promise(() => {}));
    await show(ask(approvalRequest({})), fake);
    const person = user();
    await person.dblClick(button("Approve once"));
    const card = screen.getByRole("region", { name: /rm -rf dist/ });
    await waitFor(() => expect(card.getAttribute("aria-busy")).toBe("true"));
    expect(fake.sent).toHaveLength(1);
  });

  it("says who was faster, and keeps what was typed", async () => {
    const winner = {
      interactionId: "int_1",
      by: "person",
      name: "ben",
      surface: "terminal",
      action: "deny",
      // However slow the machine of this test is.
      at: new Date(Date.now() + 60_000).toISOString(),
    } as const;
    const fake = fakeDesk({}, () =>
      Promise.reject(new Problem(409, { code: "already_answered", detail: "lost", winner })),
    );
    const { again } = await show(ask(approvalRequest({})), fake);
    const person = user();
    await person.click(button("Deny…"));
    await person.keyboard("use pnpm");
    await settle();
    await person.click(button("Deny"));
    again(ask(approvalRequest({}), decided("denied", { ...byAna, name: "ben", surface: "terminal", action: "deny" })));
    expect(screen.getByRole("alert").textContent).toMatch(/Ben denied this just before you. Your text is kept./);
    expect(screen.getByText("use pnpm")).toBeTruthy();
    await person.click(button("Send as a message"));
    expect(fake.said).toEqual(["use pnpm"]);
  });

  it("of a program offers no message: nobody there would read it", async () => {
    const program = { ...session(), agent: "caller", cwd: null };
    const expired = { state: "closed", closing: "expired", agent: "caller" } as never;
    const { again } = await show(
      ask(approvalRequest({}), { state: "open", agent: "caller" }),
      fakeDesk({ session: () => program }),
    );
    expect(screen.getByText("A program")).toBeTruthy();
    const person = user();
    await person.click(button("Deny…"));
    await person.keyboard("use pnpm");
    again(ask(approvalRequest({}), expired));
    expect(screen.getByText("use pnpm")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Send as a message" })).toBeNull();
  });

  it.each([
    [
      "answered elsewhere",
      decided("approved", { ...byAna, name: "ben", surface: "terminal", action: "approve", scope: "once" }),
      "✓ Approved once, ben in the terminal",
    ],
    [
      "denied",
      decided("denied", { ...byAna, action: "deny", reason: "use pnpm" }),
      "✕ Denied: “use pnpm”, ana in the browser",
    ],
    ["timed out", { state: "closed", closing: "expired" } as never, "◷ Nobody answered in time, not run"],
    ["withdrawn", { state: "closed", closing: "withdrawn" } as never, "◷ Withdrawn by the program, not run"],
    ["cancelled", { state: "closed", closing: "cancelled" } as never, "◷ Cancelled"],
    [
      "sent",
      {
        ...decided("approved", { ...byAna, action: "approve", scope: "once" }),
        delivery: { delivery: "delivered", incarnation: 1 },
      } as never,
      "sent, not confirmed",
    ],
    [
      "acknowledged",
      {
        ...decided("approved", { ...byAna, action: "approve", scope: "session" }),
        delivery: { delivery: "acknowledged" },
      } as never,
      "Approved for this session",
    ],
    [
      "unknown",
      {
        ...decided("approved", { ...byAna, action: "approve", scope: "once" }),
        delivery: { delivery: "unknown", incarnation: 1 },
      } as never,
      "may or may not have acted",
    ],
    ["parked", { state: "open", parked: true } as never, "‖ Parked, 4m: your answer starts it again"],
    ["queued", { state: "queued" } as never, "Agent went on without it, 4m: you can still answer"],
    ["submitted", { state: "submitted", submittedPromptId: "prm_1" } as never, "Sent, the tool is looking at it"],
  ])("shows the state: %s", async (_name, state, words) => {
    await show(ask(approvalRequest({}), state));
    expect(screen.getAllByRole("status")[0]?.textContent).toContain(words);
    const isOpen = state?.state === "open" || state?.state === "queued";
    expect(screen.queryByRole("button", { name: "Approve once" }) !== null).toBe(isOpen);
  });

  it("is read-only while interaction is off, and can be answered once it is on", async () => {
    const fake = fakeDesk({ mode: "off" });
    await show(ask(questionRequest()), fake);
    expect(screen.getByRole("radio", { name: /SQLite/ }).matches(":disabled")).toBe(true);
    expect(screen.getByText(/This browser shows asks and does not answer them/)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Send answer" })).toBeNull();
    const person = user();
    await person.click(button("Answer here"));
    await settle();
    await person.click(screen.getByRole("radio", { name: /SQLite/ }));
    await person.click(button("Send answer"));
    expect(fake.sent).toMatchObject([{ action: "submit", answers: { store: "SQLite" } }]);
  });

  it("keeps a draft over a reload", async () => {
    const first = render(<OnDesk fake={fakeDesk()} ask={ask(questionRequest())} />);
    const person = user();
    await person.type(screen.getByLabelText(/Another answer/), "a flat file");
    first.unmount();
    forgetMemory();
    render(<OnDesk fake={fakeDesk()} ask={ask(questionRequest())} />);
    expect(screen.getByLabelText(/Another answer/)).toHaveProperty("value", "a flat file");
  });
});

describe("the keys of an approval", () => {
  const focused = async (change: object = {}, place = {}) => {
    const fake = fakeDesk();
    render(<OnDesk fake={fake} ask={ask(approvalRequest(change))} place={{ ...nowhere, ...place }} />);
    await settle();
    screen.getByRole("region", { name: /rm -rf dist/ }).focus();
    return { fake, person: user() };
  };
  const marked = { marks: [{ risk: "deletes", field: "/command", text: "rm -rf dist" }] };
  const chord = "{Control>}{Enter}{/Control}";

  it("approve with one chord, and go on once it was taken", async () => {
    const onAnswered = vi.fn();
    const { fake, person } = await focused({}, { onAnswered });
    await person.keyboard(chord);
    expect(fake.sent).toMatchObject([{ action: "approve", scope: "once" }]);
    expect(onAnswered).toHaveBeenCalledOnce();
  });

  it("do nothing during the rest, and begin it again", async () => {
    const fake = fakeDesk();
    render(<OnDesk fake={fake} ask={ask(approvalRequest({}))} />);
    screen.getByRole("region").focus();
    const person = user();
    for (let press = 0; press < 6; press++) {
      await act(() => vi.advanceTimersByTimeAsync(INERT_MS / 2));
      await person.keyboard(`a${chord}`);
      expect(document.activeElement).toBe(screen.getByRole("region"));
    }
    expect(fake.sent).toEqual([]);
  });

  it("count from when they were pressed, also on a page that was busy", async () => {
    const { fake, person } = await focused();
    lateBy = INERT_MS;
    await person.keyboard(chord);
    await person.click(button("Approve once"));
    expect(fake.sent).toEqual([]);
  });

  it("refuse the chord for what is marked: A says what Enter does, Enter does it", async () => {
    const { fake, person } = await focused(marked);
    await person.keyboard(chord);
    expect(fake.sent).toEqual([]);
    await person.keyboard("a");
    expect(screen.getByText(/approves: it deletes/)).toBeTruthy();
    await person.keyboard("{Enter}");
    expect(fake.sent).toHaveLength(1);
  });

  it("by finger what is marked takes another press, and a double click decides nothing", async () => {
    const { fake, person } = await focused(marked);
    await person.dblClick(button(/Approve once/));
    expect(fake.sent).toEqual([]);
    await settle();
    await person.click(button("Approve all the same"));
    expect(fake.sent).toHaveLength(1);
  });

  it.each(["x{Enter}", "ja{Enter}", "yes{Enter}", " {Enter}", "ax{Enter}"])(
    "are not meant by who types %s",
    async (typed) => {
      const { fake, person } = await focused();
      await person.keyboard(typed);
      expect(fake.sent).toEqual([]);
    },
  );

  it("do nothing while they are held", async () => {
    const { fake, person } = await focused();
    await person.keyboard("a{Enter>30/}");
    expect(fake.sent).toHaveLength(1);
  });

  it("never press by Space what decides", async () => {
    const { fake, person } = await focused();
    await person.keyboard("a ");
    expect(document.activeElement).toBe(button("Approve once"));
    expect(fake.sent).toEqual([]);
  });
});

describe("what was never shown", () => {
  const long = Array.from({ length: 60 }, (_, line) => `step ${line + 1}`).join("\n");
  const body = () => document.querySelector("[data-scrolls]") as HTMLElement;

  it("cannot be approved, by no way, until it was unfolded and shown to its end", async () => {
    [boxHeight, inputHeight] = [400, 1_200];
    const { fake } = await show(ask(approvalRequest({ input: { command: long } })));
    const person = user();
    screen.getByRole("region").focus();
    expect(screen.getByText(/Part of it was not shown yet/)).toBeTruthy();
    await person.keyboard("a{Enter}");
    expect(screen.getByRole("region").textContent).toContain("step 30");
    await settle();
    expect(body().scrollTop).toBe(0);
    await person.keyboard("{Control>}{Enter}{/Control}");
    expect(body().scrollTop).toBe(360);
    await settle();
    await person.click(button("Approve once"));
    expect(body().scrollTop).toBe(720);
    await settle();
    await person.click(button("Edit"));
    expect(screen.queryByLabelText(/Change the/)).toBeNull();
    expect(body().scrollTop).toBe(1_080);
    await settle();
    expect(fake.sent).toEqual([]);
    expect(screen.queryByText(/Part of it was not shown yet/)).toBeNull();
    await person.click(button("Approve once"));
    expect(fake.sent).toHaveLength(1);
  });

  it("is what a jump to the end leaves out", async () => {
    [boxHeight, inputHeight] = [400, 1_200];
    const { fake } = await show(ask(approvalRequest({ input: { command: long } })));
    const person = user();
    screen.getByRole("region").focus();
    await person.keyboard(" ");
    act(() => body().scrollTo({ top: 800 }));
    await settle();
    await person.click(button("Approve once"));
    expect(body().scrollTop).toBe(360);
    expect(fake.sent).toEqual([]);
  });

  it("is no marked line and not the end: both stand among what is shown first", async () => {
    const risky = long.replace("step 30", "rm -rf /srv");
    const marks = [{ risk: "deletes" as const, field: "/command", text: "rm -rf /srv" }];
    await show(ask(approvalRequest({ input: { command: risky }, marks })));
    const shown = screen.getByRole("region").textContent ?? "";
    for (const line of ["step 1", "step 12", "rm -rf /srv", "step 55", "step 60"]) expect(shown).toContain(line);
    expect(shown).not.toContain("step 20");
    screen.getByRole("region").focus();
    await user().keyboard(" ");
    expect(screen.getByRole("region").textContent).toContain("step 20");
  });
});

describe("a question", () => {
  const deploy = {
    ...STORE,
    id: "deploy",
    header: "Deploy",
    question: "Where to?",
    multiSelect: true,
    options: [{ label: "staging" }, { label: "production" }],
  };

  it("is sent when it is complete, not before", async () => {
    const { fake } = await show(ask(questionRequest([STORE, deploy])));
    const person = user();
    expect(button("Send 2 answers")).toHaveProperty("disabled", true);
    await person.click(screen.getByRole("radio", { name: /PostgreSQL/ }));
    expect(screen.getByText("1 of 2 answered")).toBeTruthy();
    await person.click(screen.getByRole("checkbox", { name: /production/ }));
    await person.click(screen.getByRole("checkbox", { name: /staging/ }));
    await person.click(button("Send 2 answers"));
    expect(fake.sent).toMatchObject([{ answers: { store: "PostgreSQL", deploy: ["production", "staging"] } }]);
  });

  it("takes another answer, but no blank one", async () => {
    const { fake } = await show(ask(questionRequest()));
    const person = user();
    await person.click(screen.getByRole("radio", { name: "Other" }));
    expect(button("Send answer")).toHaveProperty("disabled", true);
    await person.type(screen.getByLabelText(/Another answer/), "a flat file");
    await person.click(button("Send answer"));
    expect(fake.sent).toMatchObject([{ answers: { store: "a flat file" } }]);
  });

  it("takes several lines where there is room for them", async () => {
    const report = { id: "what", header: "Report", question: "What happened?", options: [], multiline: true };
    const { fake } = await show(ask(questionRequest([report])));
    const person = user();
    await person.type(screen.getByLabelText("What happened?"), "First this.{Enter}Then that.");
    expect(fake.sent).toEqual([]);
    await person.click(button("Send answer"));
    expect(fake.sent).toMatchObject([{ answers: { what: "First this.\nThen that." } }]);
  });

  it("is answered by keyboard alone", async () => {
    const { fake } = await show(ask(questionRequest([STORE, deploy])));
    screen.getByRole("region").focus();
    const person = user();
    await person.keyboard("212");
    await settle();
    await person.keyboard("{Control>}{Enter}{/Control}");
    expect(fake.sent).toMatchObject([{ answers: { store: "PostgreSQL", deploy: ["staging", "production"] } }]);
  });

  it("is sent on a pick only where that is the setting", async () => {
    const { fake } = await show(ask(questionRequest()), fakeDesk({ sendOnPick: true }));
    await user().click(screen.getByRole("radio", { name: /SQLite/ }));
    expect(fake.sent).toMatchObject([{ answers: { store: "SQLite" } }]);
  });

  it("that timed out can still be sent as a message", async () => {
    const { fake } = await show(ask(questionRequest(), { state: "closed", closing: "expired" } as never));
    await user().click(screen.getByRole("radio", { name: /SQLite/ }));
    await user().click(button("Send as a message"));
    expect(fake.sent).toHaveLength(1);
  });

  it("shows what is wrong with an answer beside it", async () => {
    const fake = fakeDesk({}, () =>
      Promise.reject(new Problem(422, { code: "invalid", detail: "no", fieldErrors: { store: "is not offered" } })),
    );
    await show(ask(questionRequest()), fake);
    await user().click(screen.getByRole("radio", { name: /SQLite/ }));
    await user().click(button("Send answer"));
    expect(screen.getByText("This answer is not offered. Your text is kept.")).toBeTruthy();
  });
});

describe("an approval", () => {
  it("names the literal rule before it is remembered", async () => {
    const { fake } = await show(ask(approvalRequest({})));
    const person = user();
    await person.click(button("Remember…"));
    expect(screen.getByRole("radio", { name: /Bash with exactly this input.*until this session ends/ })).toBeTruthy();
    await settle();
    await person.click(button("Approve and remember"));
    expect(fake.sent).toMatchObject([{ action: "approve", scope: "session" }]);
  });

  it("saves the very rule that was shown, of several", async () => {
    const lines = (scope: "session" | "always", line: string) => ({ scope, rule: "lines" as const, lines: [line] });
    const offeredScopes = [
      { scope: "once" as const, rule: "exact_input" as const, toolName: "Bash", inputDigest: "d1" },
      lines("session", "allow Bash(cargo test -p auth)"),
      lines("always", "allow Bash(cargo test -p auth)"),
      lines("session", "allow Bash(cargo test:*)"),
    ];
    const { fake } = await show(ask(approvalRequest({ input: { command: "cargo test -p auth" }, offeredScopes })));
    const person = user();
    await person.click(button("Remember…"));
    await settle();
    await person.click(screen.getByRole("radio", { name: /allow Bash\(cargo test:\*\).*until this session ends/ }));
    await person.click(button("Approve and remember"));
    expect(fake.sent).toMatchObject([{ action: "approve", scope: "session", lines: ["allow Bash(cargo test:*)"] }]);
  });

  it("shows what is risky and what rules say of each part", async () => {
    await show(
      ask(
        approvalRequest({
          marks: [{ risk: "deletes", field: "/command", text: "rm -rf dist" }],
          verdict: {
            effect: "ask",
            parts: [
              { effect: "ask", text: "rm -rf dist", why: "no rule allows `rm`" },
              {
                effect: "allow",
                text: "npm run build",
                why: "a rule allows it",
                rule: { text: "allow Bash(npm run build)", layer: "person" },
              },
            ],
          },
        }),
      ),
    );
    expect(screen.getByText("Marked because").nextElementSibling?.textContent).toContain("it deletes: rm -rf dist");
    const said = screen.getByRole("region", { name: "What rules say" }).textContent;
    expect(said).toContain("allow Bash(npm run build) (person)");
    expect(said).toContain("no rule allows rm");
  });

  it("says the agent's words about a call once, and where they are marked, in the input too", async () => {
    const input = { command: "npm test", description: "Runs the tests in production" };
    const { again } = await show(ask(approvalRequest({ input, agentSays: input.description })));
    expect(screen.getAllByText(/Runs the tests in production/)).toHaveLength(1);
    again(ask(approvalRequest({ promptId: "prm_2", input, agentSays: "Something else" })));
    expect(screen.getAllByText(/Runs the tests in production/)).toHaveLength(1);
    const marks = [{ risk: "listed" as const, field: "/description", text: "production" }];
    again(ask(approvalRequest({ promptId: "prm_3", input, agentSays: input.description, marks })));
    expect(screen.getAllByText("description")).toHaveLength(1);
  });

  it("folds the input beside a diff of ours, and never beside a program's own", async () => {
    const edit = {
      toolName: "Edit",
      input: { file_path: "a.rs", new_string: "two" },
      preview: "@@ -1 +1 @@\n-one\n+two",
    };
    const { again } = await show(ask(approvalRequest(edit)));
    const folded = () => screen.getByText("The input, as it would run").closest("details");
    expect(folded()?.open).toBe(false);
    again(ask(approvalRequest({ ...edit, promptId: "prm_2", origin: "caller" })));
    expect(folded()).toBeNull();
  });

  it("offers nothing that the agent's wire cannot carry", async () => {
    await show(ask(approvalRequest({ capabilities: { reason: false, editInput: false, scopes: false } })));
    expect(screen.queryByRole("button", { name: /Remember/ })).toBeNull();
    expect(screen.queryByRole("button", { name: /Edit/ })).toBeNull();
    expect(button("Deny")).toBeTruthy();
  });

  it("sends the input that was edited, and no edit that changes nothing", async () => {
    const { fake } = await show(ask(approvalRequest({})));
    const person = user();
    await person.click(button("Edit"));
    await settle();
    expect(button("Approve edited command")).toHaveProperty("disabled", true);
    const box = screen.getByRole("textbox");
    await person.clear(box);
    await person.type(box, "npm run build");
    await person.click(button("Approve edited command"));
    expect(fake.sent).toMatchObject([{ action: "approve", scope: "once", editedInput: { command: "npm run build" } }]);
  });

  it("refuses an edit that is no JSON", async () => {
    await show(ask(approvalRequest({ input: { to: "production" }, toolName: "deploy" })));
    const person = user();
    await person.click(button("Edit"));
    await person.type(screen.getByRole("textbox"), "x");
    expect(screen.getByText(/Not JSON yet/)).toBeTruthy();
    expect(button("Approve edited input")).toHaveProperty("disabled", true);
  });

  it("cannot be given where the payload is missing or was rounded", async () => {
    const { again } = await show(ask(approvalRequest({ input: null })));
    expect(button("Approve once")).toHaveProperty("disabled", true);
    again(ask(approvalRequest({ input: { id: JSON.parse("9007199254740993") } })));
    expect(button("Approve once")).toHaveProperty("disabled", true);
  });

  it("shows hidden characters in the command", async () => {
    await show(ask(approvalRequest({ input: { command: "echo \u202Egnp.exe\u200B" } })));
    const marks = [...document.querySelectorAll("h2 mark")].map((mark) => mark.textContent);
    expect(marks).toEqual(["⟨U+202E⟩", "⟨U+200B⟩"]);
  });

  it("shows a plan as what it is", async () => {
    const plan = "# Steps\n\n1. **Look**";
    await show(ask(approvalRequest({ toolName: "ExitPlanMode", isPlan: true, input: { plan } })));
    expect(screen.getByText("Look").tagName).toBe("STRONG");
    expect(button("Approve plan and start")).toBeTruthy();
    expect(button("Keep planning…")).toBeTruthy();
    expect(screen.getByText("3 lines, all drawn")).toBeTruthy();
    await user().click(button("Show the text as written"));
    expect(document.querySelector("pre")?.textContent).toBe(plan);
  });

  it("draws no other tool's input as a plan, whatever its field is called", async () => {
    await show(ask(approvalRequest({ toolName: "mcp__x__run", input: { plan: "[//]: # (rm -rf /)\n\n**Look**" } })));
    const lines = [...document.querySelectorAll("dl dl code, dd > div code")].map((line) => line.textContent);
    expect(lines).toEqual(["[//]: # (rm -rf /)", "", "**Look**"]);
    expect(button("Approve once")).toBeTruthy();
    expect(screen.queryByText("Start this plan?")).toBeNull();
  });
});

describe("one question", () => {
  it("has its header", async () => {
    await show(ask(questionRequest()));
    expect(screen.getByText("Store")).toBeTruthy();
  });
});

describe("a form", () => {
  const form = {
    title: "Release",
    fields: [
      { id: "version", label: "Version", type: "text", required: true, default: "1.4.0" },
      { id: "count", label: "Replicas", type: "number", min: 1, max: 9, integer: true },
      {
        id: "who",
        label: "Tell",
        type: "multiselect",
        options: [
          { value: "a", label: "ana" },
          { value: "b", label: "ben" },
        ],
      },
      { id: "migrate", label: "Run migrations", type: "checkbox" },
      { id: "env", label: "Environment", type: "select", options: [{ value: "s", label: "staging" }] },
      { id: "pace", label: "Pace", type: "radio", options: [{ value: "slow", label: "slow" }] },
      { id: "day", label: "Day", type: "date" },
      { id: "key", label: "Key", type: "secret" },
      { id: "notes", label: "Notes", type: "textarea" },
    ],
  } as const;
  const request = (change = {}) => formRequest(form as never, change);

  it("sends every value in its type, and null for what was left empty", async () => {
    const { fake } = await show(ask(request()));
    const person = user();
    await person.type(screen.getByLabelText("Replicas"), "3");
    await person.click(screen.getByRole("checkbox", { name: "ben" }));
    await person.click(screen.getByRole("checkbox", { name: "Run migrations" }));
    await person.selectOptions(screen.getByLabelText("Environment"), "s");
    await person.click(screen.getByRole("radio", { name: "slow" }));
    await person.click(button("Send"));
    expect(fake.sent).toMatchObject([
      {
        action: "submit",
        input: {
          version: "1.4.0",
          count: 3,
          who: ["b"],
          migrate: true,
          env: "s",
          pace: "slow",
          day: null,
          key: null,
          notes: null,
        },
      },
    ]);
  });

  it("says of what form a text must be, and shows the keys for it", async () => {
    const mail = { id: "mail", label: "Mail", type: "text", format: "email", maxLength: 40, required: false } as const;
    await show(ask(formRequest({ fields: [mail] })));
    expect(screen.getByText("an email address, at most 40 characters")).toBeTruthy();
    expect(screen.getByLabelText("Mail").getAttribute("inputmode")).toBe("email");
  });

  it("says what is missing before it is sent", async () => {
    const { fake } = await show(ask(request()));
    const person = user();
    await person.clear(screen.getByLabelText(/Version/));
    await person.click(button("Send"));
    expect(screen.getByText("Required")).toBeTruthy();
    expect(fake.sent).toEqual([]);
  });

  it("is asked again on the same surface, with the error and the typed values", async () => {
    const { again } = await show(ask(request()));
    const person = user();
    await person.type(screen.getByLabelText("Notes"), "careful");
    const card = screen.getByRole("region", { name: /Release/ });
    again(
      ask(
        request({
          promptId: "prm_2",
          attempt: 2,
          error: "the version is taken",
          fieldErrors: { version: "is taken" },
          initialValues: { version: "1.4.0", notes: "careful" },
        }),
      ),
    );
    expect(screen.getByRole("region", { name: /Release/ })).toBe(card);
    expect(within(card).getByText(/Asked again/).textContent).toContain("the version is taken");
    expect(screen.getByText("Is taken. Your text is kept.")).toBeTruthy();
    expect(screen.getByLabelText("Notes")).toHaveProperty("value", "careful");
  });

  it("shows why it is asked at its first showing, too", async () => {
    await show(ask(request({ error: "the tag exists already" })));
    expect(screen.getByText(/Asked again: /).textContent).toBe("Asked again: the tag exists already");
  });

  it("shows what was sent without another press", async () => {
    const { again } = await show(ask(request()));
    await user().click(button("Send"));
    const response = { ...byAna, action: "submit", input: { version: "1.4.0", migrate: true } };
    again(ask(request(), decided("answered", response)));
    expect(button("Show what was asked")).toBeTruthy();
    const listed = [...document.querySelectorAll("dt, dd")].map((one) => one.textContent);
    expect(listed).toEqual(["Version", "1.4.0", "Run migrations", "true"]);
  });

  it("never keeps a secret on disk", async () => {
    await show(ask(request()));
    await user().type(screen.getByLabelText("Key"), "hunter2");
    expect(JSON.stringify({ ...localStorage })).not.toContain("hunter2");
    expect(screen.getByLabelText("Key")).toHaveProperty("value", "hunter2");
  });
});

describe("letters of two alphabets in one word", () => {
  it.each([
    ["a command", { command: "curl p\u0430ypal.com" }],
    ["a path", { file_path: "/srv/p\u0430ypal.txt", content: "x" }],
  ])("are told on the card: %s", async (_name, input) => {
    await show(ask(approvalRequest({ input })));
    expect(screen.getByText(/letters of two alphabets/).textContent).toContain("p⟨U+0430⟩ypal");
  });

  it("are no matter where each word has one", async () => {
    await show(ask(approvalRequest({ input: { command: "cat отчёт.txt αβγ" } })));
    expect(screen.queryByText(/two alphabets/)).toBeNull();
  });
});
