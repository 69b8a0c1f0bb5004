// Compares what cards and the terminal say would run with what was asked. Each must show the tool and the whole input, and none
// of the asker's words in their place. Usage: node shows/cards-true.mjs [asks]

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { binary } from "../scripts/gateway.mjs";
import { check, heading, reads, run } from "./harness.mjs";
import { askAll, asked } from "./hostile-asks.mjs";

const ASKS = Number(process.argv[2] ?? 200);
const runs = promisify(execFile);

await run(async ({ gateway, open }) => {
  const all = Array.from({ length: ASKS }, (_, n) => asked(n + 1));
  const ids = await askAll(gateway, all);
  const page = await open();
  // The page reads asks of terminals and of a later version's kind, as a gateway that has them would send them.
  await reads(page, (value) => {
    const mark = /#(attached|hologram)#/.exec(value.decisionReason ?? value.agentSays ?? "")?.[1];
    if (mark === "attached") value.origin = "attached";
    if (mark === "hologram") value.kind = "hologram";
  });
  heading(`${all.length} asks on the page:`);
  const untrue = [];
  for (const one of all) {
    await page.goto(`${gateway.url}/?ask=${ids.get(one.n)}`);
    const wrong = one.kind === "hologram" ? await unknown(page) : await onThePage(page, one);
    if (wrong) untrue.push(`${one.n} (${one.origin}, ${one.kind}): ${wrong}`);
  }
  check("each shows its tool and its input, and nothing else in their place", untrue.length === 0, untrue.slice(0, 5));

  const approvals = all.filter(({ kind }) => kind === "approval");
  heading(`${approvals.length} approvals in a terminal:`);
  const untold = [];
  for (const one of approvals) {
    const wrong = await inATerminal(gateway, one, ids.get(one.n));
    if (wrong) untold.push(`${one.n} (${one.origin}): ${wrong}`);
  }
  check("each shows its tool and its input, and nothing else in their place", untold.length === 0, untold.slice(0, 5));
  return `show-cards-true: ${untrue.length + untold.length} of ${all.length + approvals.length} cards untrue.`;
});

/** What is wrong with a card, if something is. */
async function onThePage(page, { n, kind, tool, marks }) {
  const card = page.locator("[data-card]:not([data-inert])");
  await card.waitFor();
  await card.press(" ");
  const { text, head } = await card.evaluate((element) => ({
    text: element.innerText,
    head: element.querySelector("[data-happens]")?.innerText ?? "",
  }));
  const name = tool.match(/\w+$/)[0];
  if (!head.includes(name)) return `its head does not name ${name}: ${head}`;
  if (new RegExp(`(says|diff)${n}\\b`).test(head)) return `its head says what the asker says: ${head}`;
  if (kind !== "approval") return text.includes(`title${n}`) ? null : "its question is missing";
  const missing = marks.filter((mark) => !text.includes(mark));
  return missing.length > 0 ? `${missing.join(", ")} of its input is missing` : null;
}

/** The page says that it cannot show this ask, and its other parts stay usable. */
async function unknown(page) {
  await page.getByText("This page cannot show this ask").waitFor();
  return (await page.getByRole("link", { name: "Decided" }).first().isVisible()) ? null : "the page is gone";
}

async function inATerminal(gateway, { n, tool, marks }, id) {
  const env = { ...process.env, HOLDSTEAD_DIR: gateway.dir };
  const { stdout } = await runs(binary(), ["answer", id, "--approve"], { env });
  const [asker] = stdout.split("\n");
  const flat = stdout.replace(/\s+/g, "");
  const name = tool.match(/\w+$/)[0];
  if (!asker.includes(name)) return `its first line does not name ${name}: ${asker}`;
  if (new RegExp(`(says|diff)${n}\\b`).test(asker)) return `its first line says what the asker says: ${asker}`;
  const missing = marks.filter((mark) => !flat.includes(mark));
  return missing.length > 0 ? `${missing.join(", ")} of its input is missing` : null;
}
