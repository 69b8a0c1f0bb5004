// A gateway that stops and comes back, browsers that were logged in before, and the count of what succeeded.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { binary, Gateway } from "../../scripts/gateway.mjs";
import { Squatter } from "./squatter.mjs";

const counts = { played: 0, succeeded: [], broken: [] };

/** Plays an attempt. It succeeds where it returns something true, and one that cannot be played is a failure of the show. */
export async function attempt(what, play) {
  try {
    const gained = await Promise.race([play(), late()]);
    counts.played += 1;
    if (gained) counts.succeeded.push(what);
    console.log(`  ${gained ? "✕ succeeded" : "✓ failed"}: ${what}${gained ? ` (${brief(gained)})` : ""}`);
  } catch (error) {
    counts.broken.push(what);
    console.log(`  ✕ not played: ${what}: ${error?.stack ?? error}`);
  }
}

const LONGEST_MS = 60_000;
const late = () =>
  new Promise((_, fail) =>
    setTimeout(() => fail(new Error(`it took longer than ${LONGEST_MS} ms`)), LONGEST_MS).unref(),
  );

const brief = (gained) => (gained === true ? "" : JSON.stringify(gained)).slice(0, 200);

/** Prints the figure, and returns what to exit with. */
export function figure() {
  const { played, succeeded, broken } = counts;
  if (broken.length > 0) console.log(`${broken.length} attempts were not played: ${broken.join("; ")}`);
  console.log(`show-web-attacks: ${succeeded.length} of ${played} attempts succeeded`);
  return succeeded.length === 0 && broken.length === 0 ? 0 : 1;
}

export class Stage {
  /** @param lan a name for the gateway that the browser does not trust */
  constructor(browser, lan) {
    this.browser = browser;
    this.lan = lan;
    this.contexts = [];
  }

  async start() {
    this.port = await freePort();
    this.gateway = new Gateway(`allowed_hosts = ["${this.lan}:${this.port}"]`);
    await this.gateway.start(`127.0.0.1:${this.port}`);
    return this;
  }

  get url() {
    return this.gateway.url;
  }

  /** A browser of a person, logged in by a link. */
  async person() {
    const context = await this.browser.newContext();
    this.contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await this.login(page);
    return page;
  }

  async login(page) {
    await page.goto(await this.gateway.newLink());
    await page.waitForURL(`${this.url}/`).catch(async (error) => {
      throw new Error(`${error.message} at ${page.url()}: ${await page.locator("body").innerText()}`);
    });
    await page.getByRole("link", { name: "Inbox" }).first().waitFor();
  }

  /** Every device of the person's, the terminal too, which then logs in again. */
  async loggedOutEverywhere() {
    await this.gateway.call("DELETE", "/v1/devices");
    execFileSync(binary(), ["--dir", this.gateway.dir, "login"], { stdio: "ignore" });
    this.gateway.token = readFileSync(join(this.gateway.dir, "token"), "utf8").trim();
  }

  /** The gateway is away, and another program has its port meanwhile. */
  async squatted(answer, meanwhile) {
    this.gateway.child.kill("SIGTERM");
    await this.gateway.gone;
    const squatter = new Squatter(answer);
    await squatter.listen(this.port);
    try {
      await meanwhile(squatter);
    } finally {
      await squatter.close();
      await this.gateway.start(`127.0.0.1:${this.port}`);
    }
    return squatter;
  }

  async end() {
    for (const context of this.contexts) await context.close().catch(() => undefined);
    await this.gateway.stop();
  }
}

async function freePort() {
  const squatter = new Squatter(() => null);
  const port = await squatter.listen();
  await squatter.close();
  return port;
}

/** As a person does who sees a page that does not work. */
export async function reload(page) {
  await page.reload({ waitUntil: "load" }).catch(() => undefined);
  await page.waitForTimeout(1_500);
}

/** The same with Shift, which asks the gateway for everything. */
export async function reloadWithShift(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.reload", { ignoreCache: true });
  await page.waitForTimeout(2_500);
  await session.detach();
}

/** What a request gains that was made up from what was taken. */
export async function gains(url, { method, path, headers = {}, body }) {
  const sent = body && !["GET", "HEAD"].includes(method) ? { body } : {};
  const cut = AbortSignal.timeout(3_000);
  const answer = await fetch(url + path, { method, headers, ...sent, redirect: "manual", signal: cut });
  await answer.body?.cancel();
  return answer.ok ? `${method} ${path}: ${answer.status}` : null;
}
