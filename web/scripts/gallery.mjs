// A picture of every card in every state, light and dark, wide and narrow, and what axe-core says about it.
// Usage: node scripts/gallery.mjs FOLDER

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { createServer } from "vite";
import { violations } from "./axe.mjs";
import { LOOKS, launch } from "./browser.mjs";

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, "../../target/gallery"));
mkdirSync(folder, { recursive: true });
const server = await createServer({
  root: resolve(import.meta.dirname, ".."),
  server: { host: "127.0.0.1", port: 0 },
  logLevel: "error",
});
await server.listen();
const browser = await launch();
let pictures = 0;
const problems = [];
try {
  for (const look of LOOKS) {
    const context = await browser.newContext({
      ...look,
      viewport: { ...look.viewport, height: 2000 },
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(`${look.name}: ${error.message}`));
    await page.goto(`http://127.0.0.1:${server.httpServer.address().port}/gallery`);
    await page.waitForSelector("[data-shot]");
    // Until what is pressed has been pressed.
    await page.waitForSelector("[data-shot=form-lost] [role=alert]");
    await page.waitForTimeout(1_500);
    for (const card of await page.locator("[data-shot]").all()) {
      const name = await card.getAttribute("data-shot");
      await card.screenshot({ path: join(folder, `${name}-${look.name.replace(" ", "-")}.png`) });
      pictures += 1;
    }
    // Many cards on one page have the same name; in the product there is one.
    for (const line of await violations(page, ["landmark-unique"])) problems.push(`${look.name}: ${line}`);
    await context.close();
  }
} finally {
  await browser.close();
  await server.close();
}
for (const problem of problems) console.log(problem);
console.log(`${pictures} pictures of cards in ${folder}, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
