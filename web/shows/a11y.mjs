// axe-core finds nothing on any screen: light and dark, on a desk and 390 px wide.
// Usage: node shows/a11y.mjs [LOOK…]; without a look it takes all four.

import { violations } from "../scripts/axe.mjs";
import { LOOKS } from "../scripts/browser.mjs";
import { authenticator, card, check, heading, ROUTED, run, stateLine, until } from "./harness.mjs";
import { KINDS } from "./kinds.mjs";

const TALK = `say # A heading\\n\\nSome **words**, \`code\`, [a link](https://example.org/).\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |
think Looking around.
tool Bash {"command":"ls -la"} => total 0
tool Read {"path":"src/gone.rs"} =! no such file
tool Edit {"file_path":"a.rs","old_string":"a\\nb","new_string":"a\\nc"} => ok
approve Bash {"command":"${Array.from({ length: 40 }, (_, at) => `step ${at}`).join("\\n")}"} because it is long`;

const named = process.argv.slice(2);
const looks = LOOKS.filter((look) => named.length === 0 || named.includes(look.name.replace(" ", "-")));
if (named.length > 0 && looks.length !== named.length) throw new Error(`not all of these are looks: ${named}`);

await run(async ({ gateway, browser, open }) => {
  let screens = 0;
  for (const look of looks) {
    heading(`${look.name}:`);
    const page = await open({ ...look, ...ROUTED });
    const isPhone = look.viewport.width < 900;
    const look_at = async (what, at = page) => {
      screens += 1;
      // What is still coming in is not what people read.
      await at.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
      const found = await violations(at);
      check(`${look.name}: ${what}`, found.length === 0, found.join("; "));
    };
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    // Before that, nothing approves it: each stroke shows the next part. The stroke after the last one would fold it again, so
    // that the page's own clock says when this stroke was drawn.
    const seeAll = async () => {
      while (await page.getByText("Part of it was not shown yet").isVisible()) {
        await page.keyboard.press("Space");
        await page.evaluate(() => new Promise((drawn) => setTimeout(drawn, 200)));
      }
    };
    const goToAsk = async (session) => {
      const asks = await until("an ask", async () => {
        const { interactions } = await gateway.call("GET", `/v1/interactions?session=${session}`);
        return interactions.length > 0 ? interactions : null;
      });
      await page.goto(`${gateway.url}/sessions/${session}?ask=${asks[0].request.interactionId}`);
      await card(page);
      return page.url();
    };

    // The first look finds a gateway that nobody used.
    const isFresh = (await gateway.call("GET", "/v1/sessions?state=all")).sessions.length === 0;
    await page.getByText(isFresh ? "Agents stop here and wait for you." : "Nothing waits for you.").waitFor();
    await look_at(isFresh ? "first run" : "a clear inbox");
    await page.goto(`${gateway.url}/rules`);
    await page.getByText("You have saved no rules").waitFor();
    await look_at("remembered approvals, none");
    const explained = await gateway.session(`explains ${look.name}`);
    await page.reload();
    await page.getByLabel("What would happen with…").fill("ls && rm -rf dist");
    await page.getByText("It would ask you").waitFor();
    await look_at("a call explained");
    await gateway.call("DELETE", `/v1/sessions/${explained}`);
    await remembered(gateway);
    await page.reload();
    await page.getByRole("button", { name: "Revoke" }).waitFor();
    await look_at("remembered approvals");
    await press("Revoke");
    await page.getByText("You have saved no rules").waitFor();
    await page.goto(`${gateway.url}/decided`);
    await page.getByRole("main").getByRole("listitem").first().waitFor();
    await look_at("decided");
    await page.getByLabel("Find a decision").fill("zzz");
    await page.getByText("No decision has").waitFor();
    await look_at("decided, nothing found");
    await page.goto(`${gateway.url}/you`);
    await page.getByText("(this browser)").waitFor();
    await look_at("you");
    await press("Log out everywhere…");
    await look_at("you: logging out everywhere");
    await pairing({ gateway, page, look_at, press });
    await passkeys({ gateway, open, look, look_at });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("s");
    await look_at("the palette");
    await page.getByRole("combobox").fill("zzz no such thing");
    await page.getByText("Nothing has").waitFor();
    await look_at("the palette, nothing found");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await look_at("keys");
    await page.keyboard.press("Escape");
    const away = await gateway.session(`away ${look.name}`);
    await gateway.call("POST", `/v1/sessions/${away}/archive`);
    await page.goto(`${gateway.url}/sessions`);
    await press("Show archived");
    await page.getByLabel("Archived").getByText(`away ${look.name}`).waitFor();
    await look_at("sessions, with the archived ones");
    await page.goto(`${gateway.url}${isPhone ? "/sessions" : "/"}`);
    await page.getByRole("button", { name: "New session", exact: true }).waitFor();
    await press("New session");
    await page.getByRole("dialog").waitFor();
    await look_at("new session");
    await page.keyboard.press("Escape");

    const session = await gateway.session(`talk ${look.name}`);
    await page.goto(`${gateway.url}/sessions/${session}`);
    await page.getByText("Nothing was said yet").waitFor();
    await look_at("a session without a word");
    if (isPhone) {
      await press("Details");
      await page.getByRole("dialog").waitFor();
      await look_at("what a session comes to");
    }
    await press("End session…");
    await page.getByRole("button", { name: "End it" }).waitFor();
    await look_at("ending a session");
    await page.keyboard.press("Escape");
    await gateway.say(session, TALK);
    if (isPhone) await page.getByRole("button", { name: "Answer" }).waitFor();
    else await card(page);
    await look_at("a session with an ask");
    await press("Stop");
    await page.getByRole("button", { name: "Stop and cancel 1 ask" }).waitFor();
    await look_at("stopping a turn that asks");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^ls -la/ }).click();
    await page.getByText("total 0", { exact: true }).waitFor();
    await look_at("a call opened");
    await goToAsk(session);
    await look_at("an approval");
    await seeAll();
    for (const name of ["Remember…", "Edit", "Deny…"]) {
      await press(name);
      await look_at(`an approval: ${name}`);
      await press("Back");
    }
    await triage({ gateway, page, look_at, press, isPhone });
    const address = await goToAsk(session);
    await seeAll();
    await press("Approve once");
    await page.locator("[data-receipts]").getByText("agent has it").waitFor();
    await look_at("a session with a receipt");
    await page.goto(address);
    await stateLine(page).filter({ hasText: "agent has it" }).waitFor();
    await look_at("a settled approval");

    for (const kind of KINDS) {
      const one = await gateway.session(`${kind.name} ${look.name}`);
      await gateway.say(one, kind.script());
      await goToAsk(one);
      await look_at(`${kind.name}: open`);
      await page.route("**/respond", (route) => route.abort());
      await kind.fill(page);
      await press(kind.send);
      await page.getByRole("button", { name: "Retry" }).waitFor();
      await look_at(`${kind.name}: submit failed`);
      await page.unroute("**/respond");
      await gateway.call("POST", `/v1/sessions/${one}/interrupt`);
      await stateLine(page).filter({ hasText: "Cancelled" }).waitFor();
      await look_at(`${kind.name}: cancelled`);
      const late = await gateway.session(`late ${kind.name} ${look.name}`);
      await gateway.say(late, kind.script("[timeout=2s]"));
      await goToAsk(late);
      await stateLine(page).filter({ hasText: "Nobody answered" }).waitFor();
      await look_at(`${kind.name}: timed out`);
      const parked = await gateway.session(`parked ${kind.name} ${look.name}`);
      await gateway.say(parked, kind.script("[hold=200ms:park]"));
      await goToAsk(parked);
      await stateLine(page).filter({ hasText: "Parked" }).waitFor();
      await look_at(`${kind.name}: parked`);
      await gateway.call("POST", `/v1/sessions/${parked}/interrupt`);
    }

    await page.goto(`${gateway.url}/you`);
    await page.getByRole("switch", { name: "Answers here" }).click();
    const off = await gateway.session(`off ${look.name}`);
    await gateway.say(off, KINDS[0].script());
    await goToAsk(off);
    await look_at("interaction off");
    await gateway.call("POST", `/v1/sessions/${off}/interrupt`);

    const stranger = await (await browser.newContext(look)).newPage();
    await stranger.goto(`${gateway.url}/`);
    await stranger.getByText("This page needs your link").waitFor();
    const found = await violations(stranger);
    check(`${look.name}: without a link`, found.length === 0, found.join("; "));
    screens += 1;
    await stranger.context().close();
    await page.context().close();
  }
  return `axe-core looked at ${screens} screens, in ${looks.length} looks.`;
});

/** The desk: the list, a card of each shape, what was put off, the receipt of an answer. */
async function triage({ gateway, page, look_at, press, isPhone }) {
  const open = async (text) => {
    await page.goto(`${gateway.url}/`);
    await page.locator("[data-ask]", { hasText: text }).first().click();
    await card(page);
  };
  const alike = await gateway.session("alike");
  const plans = ["eu", "us", "ap"].map(
    (at) => `  approve Bash {"command":"terraform plan -lock=false -target=module.${at}"}`,
  );
  await gateway.say(alike, ["together", ...plans, "end"].join("\n"));
  const risky = await gateway.session("risky");
  await gateway.say(risky, `say All green.\napprove Bash {"command":"git push --force origin main"} says Publish`);
  const edit = await gateway.session("edit");
  await gateway.say(edit, "edit x.rs\n-b\n+c\nend");
  await page.goto(`${gateway.url}/`);
  await page.locator("[data-ask]", { hasText: "git push --force" }).waitFor();
  await look_at("an inbox with something in it");
  await open("3 × terraform");
  await look_at("alike asks");
  await press("Approve all 3");
  await look_at("alike asks: sure");
  await press("Back");
  await open("git push --force");
  await look_at("a marked approval");
  if (isPhone) {
    await press("Approve…");
    await look_at("a marked approval: sure");
    await press("Back");
  } else {
    await page.keyboard.press("a");
    await page.getByText("approves: it").waitFor();
    await look_at("a marked approval: armed");
  }
  await open("Edit x.rs");
  await look_at("an edit");
  if (!isPhone) {
    await page.keyboard.press("w");
    await page.locator("nav[data-thin]").waitFor();
    await look_at("an edit, wide");
  }
  await card(page);
  await press("Approve edit");
  await page.locator("[data-receipt]").waitFor();
  await look_at("the receipt of an answer");
  await open("git push --force");
  await press("Not now");
  await page.goto(`${gateway.url}/`);
  await page.getByRole("heading", { name: "Not now" }).waitFor();
  await look_at("something put off");
  await gateway.call("POST", `/v1/sessions/${risky}/interrupt`);
  for (const session of [alike, risky, edit]) await gateway.call("DELETE", `/v1/sessions/${session}`).catch(() => {});
}

/** A phone is let in: closed to the network, without one, and the code itself. */
async function pairing({ gateway, page, look_at, press }) {
  const networks = {
    "closed to the network": { open: [], closed: ["http://192.168.0.7:4780"] },
    "no network": { open: [], closed: [] },
    // Another machine reaches this one as little; the code is the gateway's own.
    "the code": { open: [gateway.url], closed: [] },
  };
  for (const [name, network] of Object.entries(networks)) {
    await page.route("**/v1/network", (route) => route.fulfill({ json: network }));
    await page.reload();
    // What comes in above the button moves it, and a click beside it opens nothing.
    await page.getByText("(this browser)").waitFor();
    await page.getByText("Ask for a passkey before").waitFor();
    await press("Pair a phone…");
    await page.getByText(/Only the gateway's own machine|no address in a private|Scan it with/).waitFor();
    await look_at(`you: pairing a phone, ${name}`);
    await page.unroute("**/v1/network");
  }
}

/** Browsers make passkeys at localhost. */
async function passkeys({ gateway, open, look, look_at }) {
  const base = `http://localhost:${new URL(gateway.url).port}`;
  const page = await open(look, base);
  await authenticator(page);
  await page.goto(`${base}/you`);
  const add = page.getByRole("button", { name: "Add a passkey…" });
  await add.click();
  await page.getByText("For localhost").waitFor();
  await look_at("you: a passkey", page);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByText("For localhost").waitFor({ state: "detached" });
  await page.context().close();
}

/** An approval that holds for its session. */
async function remembered(gateway) {
  const session = await gateway.session("remembers");
  await gateway.say(session, KINDS.find((one) => one.name === "approval").script());
  const { request } = await until("an approval", async () => {
    const { interactions } = await gateway.call("GET", `/v1/interactions?session=${session}`);
    return interactions[0];
  });
  await gateway.call("POST", `/v1/interactions/${request.interactionId}/respond`, {
    promptId: request.promptId,
    idempotencyKey: crypto.randomUUID(),
    action: "approve",
    scope: "session",
  });
}
