// What the shows share: a real gateway, a real browser, and checks that can fail.

import { launch } from "../scripts/browser.mjs";
import { Gateway } from "../scripts/gateway.mjs";

const failures = [];
let checks = 0;

/** Counts, prints, and remembers what did not hold. */
export function check(what, holds, detail = "") {
  checks += 1;
  if (holds) return console.log(`  ✓ ${what}`);
  failures.push(what);
  console.log(`  ✕ ${what}${detail === "" ? "" : `: ${typeof detail === "string" ? detail : JSON.stringify(detail)}`}`);
}

/** Prints the figure behind how many checks hold, and returns what to exit with. */
export function outcome(figure) {
  const held = failures.length === 0 ? `${checks} checks hold.` : `${failures.length} of ${checks} checks failed.`;
  console.log(`${held} ${figure}`);
  return failures.length === 0 ? 0 : 1;
}

export const heading = (words) => console.log(words);

/** For a page of which requests are routed: beside a service worker some of them are never answered (playwright#7588). */
export const ROUTED = { serviceWorkers: "block" };

/**
 * @param show gets a gateway and a way to open pages; returns the figure that is printed last
 * @param flags of the browser
 */
export async function run(show, settings = "", env = {}, flags = []) {
  const gateway = new Gateway(settings, env);
  const browser = await launch(flags);
  try {
    await gateway.start();
    const problems = [];
    /** A browser of its own, logged in by a link. */
    const open = async (look = {}, base = gateway.url) => {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...look });
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      page.on("pageerror", (error) => problems.push(error.message));
      const link = new URL(await gateway.newLink());
      await page.goto(`${base}${link.pathname}${link.hash}`);
      await page.waitForURL(`${base}/`);
      return page;
    };
    const figure = await show({ gateway, browser, open });
    check("no script on any page failed", problems.length === 0, problems);
    outcome(figure);
  } catch (error) {
    failures.push("it ran to its end");
    console.log(`  ✕ it ran to its end: ${error?.stack ?? error}`);
    // What was on the screen then says more than what was waited for.
    for (const page of browser.contexts().flatMap((context) => context.pages())) {
      const shown = await page.evaluate(() => document.body.innerText).catch((lost) => String(lost));
      console.log(`    at ${page.url()}:\n${shown.replace(/^/gm, "      ")}`);
    }
  } finally {
    await browser.close();
    await gateway.stop();
  }
  process.exit(failures.length === 0 ? 0 : 1);
}

/** The card on the screen, once it takes decisions. */
export async function card(page) {
  const found = page.locator("[data-card]:not([data-inert])");
  await found.waitFor();
  return found;
}

/** The lines of a card's input that are on the screen now. */
export const linesInSight = (page) =>
  page.evaluate(() => {
    const box = document.querySelector("[data-card] [data-scrolls]").getBoundingClientRect();
    const isInSight = (line) => {
      const { top, bottom } = line.getBoundingClientRect();
      return top >= box.top - 1 && bottom <= box.bottom + 1;
    };
    return [...document.querySelectorAll("[data-card] [data-scrolls] code")]
      .filter(isInSight)
      .map((line) => line.textContent);
  });

/** The line of a card that says where it stands. */
export const stateLine = (page) => page.locator("[data-card] header [role=status]");

export async function until(what, look, patienceMs = 10_000) {
  const end = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

/** Changes every object that this page reads as JSON, from its next load on. `change` runs in the page. */
export const reads = (page, change) =>
  page.addInitScript(`{
    const change = ${change};
    const { parse } = JSON;
    const changed = (value) => {
      if (value === null || typeof value !== "object") return value;
      change(value);
      Object.values(value).forEach(changed);
      return value;
    };
    JSON.parse = (text, reviver) => changed(parse.call(JSON, text, reviver));
  }`);

/** A passkey of the browser, and a finger that is there at once. */
export async function authenticator(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    knows: (isUserVerified) => session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
  };
}

/** What the agent was given, call by call, as its own results say. */
export async function received(gateway, session) {
  const events = await gateway.events(session);
  return events.filter((event) => event.type === "tool_result").map((event) => event.data.output?.received);
}

export const percentile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
};
