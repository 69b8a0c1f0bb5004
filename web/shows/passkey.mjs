// A passkey before what is marked: asked, refused, approved, and nothing of it used twice. A virtual authenticator of the
// browser stands for a person's finger. Usage: node shows/passkey.mjs

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { binary } from "../scripts/gateway.mjs";
import { call } from "./as-browser.mjs";
import { confirm, marked, signed } from "./confirmations.mjs";
import { authenticator, card, check, heading, run, until } from "./harness.mjs";

const pictures = join(import.meta.dirname, "../../target/passkey");
mkdirSync(pictures, { recursive: true });
const picture = (page, name) => page.screenshot({ path: join(pictures, `${name}.png`) });
const text = (page, words) => page.getByText(words).first().waitFor();

const isOpen = async (gateway, { ask }) => {
  const { state } = await gateway.call("GET", `/v1/interactions/${ask.interactionId}`);
  return state === "open" || state?.state === "open";
};

await run(async (stage) => {
  const { gateway, open } = stage;
  const base = `http://localhost:${new URL(gateway.url).port}`;
  const page = await open({}, base);
  const finger = await authenticator(page);
  await digits(stage);
  await added({ ...stage, base, page });
  await asked({ ...stage, base, page, finger });
  await bound({ ...stage, base, page });
  await sessions({ ...stage, page });
  await off({ ...stage, base, page, finger });
  return "Every marked approval had its own passkey's confirmation.";
});

async function digits({ open }) {
  heading("At an address in digits:");
  const page = await open();
  await page.goto(new URL("/you", page.url()).href);
  await text(page, "Browsers make passkeys for names");
  const { status, body } = await call(page, "POST", "/v1/passkeys/challenges", { purpose: "register" });
  check("the gateway says why, too", status === 422 && body.detail.includes("http://localhost"), body);
  await page.getByRole("button", { name: "Open at localhost" }).click();
  await page.waitForURL(/^http:\/\/localhost:\d+\/$/);
  check("the page leads to localhost, logged in", true);
  await page.context().close();
}

async function added({ gateway, page, base }) {
  heading("A passkey is added:");
  await page.goto(`${base}/you`);
  const before = await marked(gateway);
  const taken = await call(page, "POST", before.respond, before.approve);
  check("off by default: a marked ask is approved without one", taken.status === 200, taken.body);
  const none = await call(page, "PUT", "/v1/passkeys/requirement", { required: true });
  check("it cannot be required while there is none", none.status === 422, none.body);
  await page.getByRole("button", { name: "Add a passkey…" }).click();
  await text(page, "For localhost");
  check("it is added on the page", true);
  await page.getByRole("switch", { name: /Ask for a passkey before marked/ }).click();
  await until("the requirement", async () => (await call(page, "GET", "/v1/passkeys")).body.required);
  await picture(page, "you");
  check("and required from now on", true);
}

async function asked({ gateway, page, base, finger }) {
  heading("Other doors:");
  const one = await marked(gateway);
  const { interactionId, toolCallId } = one.ask;
  const doors = {
    "the terminal's token": await gateway.call("POST", one.respond, one.approve).catch((error) => error.message),
    "this browser's token": JSON.stringify(await call(page, "POST", one.respond, one.approve)),
    "the short form": await gateway
      .call("POST", `/api/sessions/${one.session}/approve`, { toolCallId })
      .catch((error) => error.message),
    "several at once": JSON.stringify(
      await gateway.call("POST", "/v1/interactions/respond", { answers: [{ interactionId, ...one.approve }] }),
    ),
  };
  for (const [door, said] of Object.entries(doors))
    check(`${door} is refused`, /in the page|by itself/.test(JSON.stringify(said)), said);
  const terminal = spawnSync(binary(), ["--dir", gateway.dir, "answer", interactionId, "--approve"], {
    encoding: "utf8",
    input: "",
  });
  const words = terminal.stdout + terminal.stderr;
  check("the terminal says where to approve it", terminal.status !== 0 && words.includes("in the page"), words);
  check("the ask still waits", await isOpen(gateway, one));

  heading("On the page:");
  await page.goto(`${base}/sessions/${one.session}?ask=${interactionId}`);
  await finger.knows(false);
  await approve(page);
  await text(page, "passkey did not confirm it");
  await picture(page, "refused");
  check("a passkey that does not know the person approves nothing", await isOpen(gateway, one));
  await finger.knows(true);
  await approve(page);
  const answer = await until("the approval", async () => {
    const events = await gateway.events(one.session);
    return events.find((event) => event.type === "interaction_response");
  });
  const { passkeys } = (await call(page, "GET", "/v1/passkeys")).body;
  check(
    "one that does approves it, and the journal names it",
    answer.data.actor?.passkeyId === passkeys[0].passkeyId,
    answer.data,
  );
  const other = await marked(gateway);
  const denied = await gateway.call("POST", other.respond, { ...other.approve, action: "deny" });
  check("to deny takes no passkey", denied.state !== undefined, denied);
}

/** As a person does it with a mouse: what is marked takes two acts, and the card rests between them. */
async function approve(page) {
  const shown = await card(page);
  const sure = shown.getByRole("button", { name: "Approve all the same" });
  if ((await sure.count()) === 0)
    await shown
      .getByRole("button", { name: /^Approve/ })
      .first()
      .click();
  await sure.waitFor();
  await page.waitForTimeout(700);
  await sure.click();
}

async function bound({ gateway, page, open, base }) {
  heading("What a passkey confirmed is used once, for that alone:");
  const [one, two] = [await marked(gateway), await marked(gateway)];
  const answer = await signed(page, one.purpose);
  check("an answer is taken", (await confirm(page, answer)).status === 204);
  const again = await confirm(page, answer);
  check("and not a second time", [409, 422].includes(again.status), again.body);
  const elsewhere = await call(page, "POST", two.respond, two.approve);
  check("another ask is not approved by it", elsewhere.body.code === "passkey_required", elsewhere.body);
  const edited = await call(page, "POST", one.respond, { ...one.approve, editedInput: { command: "rm -rf /" } });
  check("nor another input for the same ask", edited.body.code === "passkey_required", edited.body);
  const second = await open({}, base);
  const device = await call(second, "POST", one.respond, one.approve);
  check("nor from another device", device.body.code === "passkey_required", device.body);
  const taken = await call(page, "POST", one.respond, one.approve);
  check("what was confirmed is approved", taken.status === 200, taken.body);
  const repeated = await call(page, "POST", one.respond, one.approve);
  check("sent again, it counts once", repeated.status === 200, repeated.body);
  const forged = await signed(page, two.purpose);
  const changed = { ...forged, signature: (await signed(page, two.purpose)).signature };
  const refused = await confirm(page, changed);
  check("a signature of another challenge is refused", refused.status === 422, refused.body);
  const own = await signed(page, two.purpose);
  check("its own is taken", (await confirm(page, own)).status === 204);
  const burnt = await confirm(page, own);
  check("once, and not a second time", [409, 422].includes(burnt.status), burnt.body);
  check("so the other ask still waits", await isOpen(gateway, two));
  await second.context().close();
}

async function sessions({ gateway, page }) {
  heading("Sessions in which nothing asks:");
  const session = { agent: "scripted", cwd: gateway.work, permissionMode: "auto" };
  const refused = await call(page, "POST", "/v1/sessions", session);
  check("one is not opened without", refused.body.code === "passkey_required", refused.body);
  await confirm(page, await signed(page, { purpose: "open_session", session }));
  const other = await call(page, "POST", "/v1/sessions", { ...session, title: "another" });
  check("nor another one than was confirmed", other.body.code === "passkey_required", other.body);
  const opened = await call(page, "POST", "/v1/sessions", session);
  check("and with it, it is", opened.status < 300, opened.body);
  const plain = await call(page, "POST", "/v1/sessions", { ...session, permissionMode: "default" });
  check("those that ask need none", plain.status < 300, plain.body);
}

async function off({ gateway, page, base, finger }) {
  heading("Switching it off:");
  const { passkeys } = (await call(page, "GET", "/v1/passkeys")).body;
  const attempts = [
    await call(page, "PUT", "/v1/passkeys/requirement", { required: false }),
    await call(page, "DELETE", `/v1/passkeys/${passkeys[0].passkeyId}`),
  ];
  check(
    "it stays on, and the passkey stays, without a passkey",
    attempts.every(({ body }) => body.code === "passkey_required"),
    attempts,
  );
  await page.goto(`${base}/you`);
  const toggle = page.getByRole("switch", { name: /Ask for a passkey before marked/ });
  await finger.knows(false);
  await toggle.click();
  await text(page, "passkey did not confirm it");
  check("nor by somebody whom it does not know", (await call(page, "GET", "/v1/passkeys")).body.required);
  await finger.knows(true);
  await toggle.click();
  await until("the requirement", async () => !(await call(page, "GET", "/v1/passkeys")).body.required);
  check("with it, it is off", true);
  const one = await marked(gateway);
  const taken = await gateway.call("POST", one.respond, one.approve);
  check("and the terminal approves again", taken.state !== undefined, taken);
}
