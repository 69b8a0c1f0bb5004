// The pictures of the README: the desk, and an ask on a phone. Usage: node scripts/pictures.mjs

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { launch } from "./browser.mjs";
import { Gateway } from "./gateway.mjs";

const folder = resolve(import.meta.dirname, "../../docs/images");
const gateway = await new Gateway().start();
const browser = await launch();
try {
  const open = async (look) => {
    const page = await (await browser.newContext({ deviceScaleFactor: 2, reducedMotion: "reduce", ...look })).newPage();
    await page.goto(await gateway.newLink());
    await page.waitForURL(`${gateway.url}/`);
    return page;
  };
  const session = async (name, title) => {
    const cwd = join(gateway.work, name);
    mkdirSync(cwd, { recursive: true });
    return (await gateway.call("POST", "/v1/sessions", { agent: "scripted", cwd, title })).sessionId;
  };
  /** The list is drawn in the order of asks: each waits before the next one is made. */
  const asks = async (name, title, text, many = 1) => {
    const id = await session(name, title);
    await gateway.say(id, text);
    for (;;) {
      const { interactions } = await gateway.call("GET", `/v1/interactions?session=${id}`);
      if (interactions.length === many) return;
      await new Promise((done) => setTimeout(done, 25));
    }
  };
  const shards = Array.from(
    { length: 36 },
    (_, at) => `psql -h shard${String(at + 1).padStart(2, "0")} -f 0041_orders.sql`,
  );
  const script = ["set -euo pipefail", "OLD=/srv/orders-old", ...shards, 'rm -rf "$OLD"/data "$OLD"/wal', "echo moved"];
  await asks(
    "shop-api",
    "Move orders to 36 shards",
    `as migrator\napprove Bash ${JSON.stringify({ command: script.join("\n") })} says Moves the orders and clears the old copy.`,
  );
  const regions = ["eu-north", "eu-south", "us-east", "us-west"];
  const apply = (region) => `approve Bash ${JSON.stringify({ command: `terraform apply -target=module.${region}` })}`;
  await asks("infra", "Roll out region modules", ["together", ...regions.map(apply), "end"].join("\n"), regions.length);
  await asks(
    "shop-api",
    "Replace the login stub",
    'approve Bash {"command":"cargo fmt --check && cargo test -p auth"} says Checks the new login',
  );
  await asks(
    "docs",
    "Sign-in on mobile",
    "ask\nSign-in: How do people sign in? | Passkeys: no passwords | Email link: one thing less to build\nStore: Where do tokens go? | Keychain | An encrypted file\nend",
  );
  await asks(
    "web-shop",
    "Release 1.4.0",
    'form {"title":"Release 1.4.0","fields":[{"id":"version","label":"Version","type":"text"}]}',
  );
  await gateway.say(
    await session("billing", "Read the invoices of October"),
    "say Reading the invoices.\nrepeat 600\nsay still reading\nwait 100ms\nend",
  );

  const desk = await open({ viewport: { width: 1440, height: 900 } });
  // A temporary folder has a name that nobody knows.
  await desk.route(/\/v1\/(sessions|interactions)(\/(?!events)\w+)?(\?.*)?$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replaceAll(gateway.work, "/Users/ana/code") });
  });
  await desk.goto(gateway.url);
  await desk.locator("[data-ask]").nth(4).waitFor();
  await desk.locator("[data-card]:not([data-inert])").waitFor();
  await desk.waitForTimeout(1_500);
  await desk.screenshot({ path: join(folder, "desk.png") });
  const phone = await open({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  await phone.locator("[data-ask]").first().tap();
  await phone.locator("[data-card]:not([data-inert])").waitFor();
  await phone.waitForTimeout(1_500);
  await phone.screenshot({ path: join(folder, "phone.png") });
} finally {
  await browser.close();
  await gateway.stop();
}
