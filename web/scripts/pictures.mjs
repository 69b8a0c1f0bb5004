// The pictures of the README: an approval, and the inbox on a phone. Usage: node scripts/pictures.mjs

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
  const session = async (name) => {
    const cwd = join(gateway.work, name);
    mkdirSync(cwd);
    return (await gateway.call("POST", "/v1/sessions", { agent: "scripted", cwd })).sessionId;
  };
  const shop = await session("shop-api");
  await gateway.say(
    shop,
    'as tester\napprove Bash {"command":"rm -rf dist && npm run build"} because no rule covers rm says Cleans the build folder',
  );
  const docs = await session("docs");
  await gateway.say(
    docs,
    "ask [hold=200ms:park]\nStore: Where do the orders go? | SQLite: one file, no server | PostgreSQL: for a team\nDeploy: Where shall it be deployed? | staging | production\nend",
  );
  await gateway.say(
    await session("web-shop"),
    'form {"title":"Release 1.4.0","fields":[{"id":"version","label":"Version","type":"text"}]}',
  );
  await gateway.say(
    await session("billing"),
    "say Reading the invoices.\nrepeat 600\nsay still reading\nwait 100ms\nend",
  );

  const desk = await open({ viewport: { width: 1200, height: 760 } });
  // A temporary folder has a name that nobody knows.
  await desk.route(/\/v1\/sessions(\/ses_\w+)?(\?.*)?$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replaceAll(gateway.dir, "/Users/ana/code") });
  });
  await desk.goto(`${gateway.url}/sessions/${shop}`);
  await desk.locator("[data-card]:not([data-inert])").waitFor();
  await desk.getByText("~/code/shop-api").first().waitFor();
  await desk.locator("[data-card]").screenshot({ path: join(folder, "approval.png") });
  const phone = await open({ viewport: { width: 390, height: 700 }, isMobile: true, hasTouch: true });
  await phone.getByText("Release 1.4.0").waitFor();
  await phone.waitForTimeout(1_500);
  await phone.screenshot({ path: join(folder, "phone.png") });
} finally {
  await browser.close();
  await gateway.stop();
}
