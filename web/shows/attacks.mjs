// Attacks on a logged-in browser by programs that take the gateway's port for a while, and by what they leave behind: each
// attempt is played against the real page and gateway, and none may succeed. Usage: node shows/attacks.mjs [topic]

import { launch } from "../scripts/browser.mjs";
import { openTab } from "./attacks/open-tab.mjs";
import { ownPage } from "./attacks/own-page.mjs";
import { plainHttp } from "./attacks/plain-http.mjs";
import { figure, Stage } from "./attacks/stage.mjs";
import { stored } from "./attacks/stored.mjs";
import { workers } from "./attacks/workers.mjs";

/** Names that a browser resolves to this machine and does not trust, as it does an address in a local network. */
const LAN = "holdstead.test";

const topics = { openTab, ownPage, stored, workers, plainHttp };
const [only] = process.argv.slice(2);
if (only && !topics[only]) throw new Error(`There is no topic ${only}: ${Object.keys(topics).join(", ")}`);

const browser = await launch([`--host-resolver-rules=MAP ${LAN} 127.0.0.1`]);
try {
  for (const [name, play] of Object.entries(topics)) {
    if (only && only !== name) continue;
    const stage = await new Stage(browser, LAN).start();
    await play(stage).finally(() => stage.end());
  }
} finally {
  await browser.close();
}
process.exit(figure());
