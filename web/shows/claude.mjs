// The cards with the real Claude Code: what a person does in the browser is what it runs and what its model is told.
// Its model is the scripted one, so that nothing leaves this machine.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { binary } from "../scripts/gateway.mjs";
import { card, check, heading, run, until } from "./harness.mjs";

const program = process.env.HOLDSTEAD_CLAUDE;
const model = spawn(join(dirname(binary()), "holdstead-scripted-model"), { stdio: ["ignore", "pipe", "inherit"] });
const { value: modelUrl } = await createInterface({ input: model.stdout })[Symbol.asyncIterator]().next();
const home = mkdtempSync(join(tmpdir(), "holdstead-claude-"));
process.once("exit", () => {
  model.kill();
  rmSync(home, { recursive: true, force: true });
});

const QUESTION = {
  questions: [
    {
      question: "Where do the orders go?",
      header: "Store",
      multiSelect: false,
      options: [
        { label: "SQLite", description: "one file, no server" },
        { label: "PostgreSQL", description: "for a team" },
      ],
    },
  ],
};
const SCRIPT = {
  name: "web",
  replies: [
    [
      { say: "I begin." },
      { call: { name: "Bash", input: { command: "touch asked-for.txt", description: "Makes a file" } } },
    ],
    [{ call: { name: "AskUserQuestion", input: QUESTION } }],
    [{ call: { name: "Bash", input: { command: "touch never.txt", description: "Makes another" } } }],
  ],
};

await run(
  async ({ gateway, open }) => {
    const { agents } = await gateway.call("GET", "/v1/agents");
    check("Claude Code is offered", program && agents.some(({ name }) => name === "claude"));
    heading("Claude Code:");
    const page = await open();
    page.setDefaultTimeout(60_000);
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    const session = await gateway.session("claude", "claude");
    await page.goto(`${gateway.url}/sessions/${session}`);
    await gateway.say(session, `please go\nscript: ${JSON.stringify(SCRIPT)}`);

    const asks = await card(page);
    check("the whole command is shown", (await asks.textContent())?.includes("touch asked-for.txt"));
    await press("Edit");
    await page.getByLabel("Change the command").fill("touch edited.txt");
    await card(page);
    await press("Approve edited command");

    await page.getByRole("radio", { name: "PostgreSQL" }).check();
    await card(page);
    await press("Send answer");

    await page.getByText("touch never.txt").first().waitFor();
    await card(page);
    await press("Deny…");
    await page.getByLabel("What should it do instead?").fill("not that one, please");
    await card(page);
    await press("Deny");

    const told = await until(
      "the end",
      async () => {
        const text = await (await fetch(`${modelUrl}/told?conversation=web`)).text();
        return text.includes("not that one, please") ? text : null;
      },
      60_000,
    );
    check(
      "the edited command ran, and only that",
      existsSync(join(gateway.work, "edited.txt")) && !existsSync(join(gateway.work, "asked-for.txt")),
    );
    check("the model was told the answer", told.includes("PostgreSQL"));
    check("the model was told the reason, word for word", told.includes("not that one, please"));
    check("what was denied did not run", !existsSync(join(gateway.work, "never.txt")));
    await page.context().close();
    return "The real Claude Code ran what was approved, and its model was told what was chosen.";
  },
  program ? `[agents.claude]\nprogram = ${JSON.stringify(program)}` : "",
  {
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CONFIG_DIR: home,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  },
);
