// Service workers that a squatter leaves. After the gateway is back the person loads the page again, twice where needed.

import { call } from "../as-browser.mjs";
import { until } from "../harness.mjs";
import { pretender, Squatter } from "./squatter.mjs";
import { attempt, reload, reloadWithShift } from "./stage.mjs";

/** Tells another port of every request that it sees; answers navigations itself where it has a page. */
const worker = (port, hasPage) => `
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
const tell = (what) => fetch("http://127.0.0.1:${port}/?" + encodeURIComponent(what), { mode: "no-cors" });
self.addEventListener("fetch", (event) => {
  const { request } = event;
  tell(request.method + " " + request.url + " " + request.headers.get("authorization"));
  if (${hasPage} && request.mode === "navigate") {
    const page = "<!doctype html><title>Held</title><body>Held by a worker";
    event.respondWith(new Response(page, { headers: { "Content-Type": "text/html" } }));
  }
});`;

const page = (registrations) => `<!doctype html><title>Held</title><body>One moment<script>
(async () => {
  for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
  for (const [script, options] of ${JSON.stringify(registrations)}) await navigator.serviceWorker.register(script, options);
  document.title = "Left";
})();
</script>`;

const OURS = "/service-worker.js";
const OWN = "/worker-two.js";
const all = { updateViaCache: "all" };
const forDays = { "Cache-Control": "public, max-age=600000, immutable" };

/** Each: what it is, what is registered, whether it answers navigations, and the headers of its script. */
const VARIANTS = [
  ["at / under a name of its own", [[OWN, { scope: "/" }]], false],
  ["at / under a name of its own, with a page", [[OWN, { scope: "/" }]], true],
  ["at / under our script's name", [[OURS, { scope: "/" }]], false],
  ["at / under our script's name, with a page", [[OURS, { scope: "/" }]], true],
  ["at /sessions/", [[OWN, { scope: "/sessions/" }]], false],
  ["at /sessions/ with a page", [[OWN, { scope: "/sessions/" }]], true],
  ["at /sessions/ under our script's name, with a page", [[OURS, { scope: "/sessions/" }]], true],
  [
    "three at once, with pages",
    [OWN, OURS, "/assets/worker.js"].map((name, at) => [name, { scope: ["/", "/sessions/", "/you"][at] }]),
    true,
  ],
  ["at / under our script's name, kept by the browser for days", [[OURS, { scope: "/", ...all }]], false, forDays],
];

/** Browsers look for a newer script of these after a day only, and until then each load is answered by the worker itself. */
const LASTING = [OWN, OURS].map((name) => [
  `at / as ${name}, kept by the browser for days, with a page`,
  [[name, { scope: "/", ...all }]],
  true,
  forDays,
]);

export async function workers(stage) {
  console.log("A service worker that another program left:");
  const listener = new Squatter(() => null);
  const port = await listener.listen();
  for (const [what, registrations, hasPage, headers = {}] of VARIANTS)
    await attempt(what, () =>
      stays(stage, { registrations, script: worker(port, hasPage), headers, listener }, reload),
    );
  console.log("The same, where the person holds Shift while loading again:");
  for (const [what, registrations, hasPage, headers] of LASTING)
    await attempt(what, () =>
      stays(stage, { registrations, script: worker(port, hasPage), headers, listener }, reloadWithShift),
    );
  await listener.close();
}

async function stays(stage, { registrations, script, headers, listener }, again) {
  const tab = await stage.person();
  const inScope = registrations.some(([, { scope }]) => scope === "/") ? "/" : "/sessions/ses_x";
  const scripts = Object.fromEntries(registrations.map(([name]) => [name, script]));
  await stage.squatted(pretender(page(registrations), scripts, headers), async () => {
    await tab.goto(stage.url + inScope).catch(() => undefined);
    // A worker that was ours may answer once.
    await reload(tab);
    await tab.waitForFunction(() => document.title === "Left", undefined, { timeout: 30_000 });
  });
  for (let load = 0; load < 2; load += 1) await again(tab);
  const own = `${stage.url}${OURS} ${stage.url}/`;
  const foreign = async () => (await registered(tab)).filter((one) => one !== own);
  // A browser looks for a newer script a second after a load, and the newer worker then loads the page once more.
  await until("the end of foreign workers", () =>
    foreign().then(
      ({ length }) => length === 0,
      () => false,
    ),
  ).catch(() => undefined);
  const left = await foreign();
  listener.seen.length = 0;
  await reload(tab);
  if ((await tab.title()) === "Held") return "its page is still shown";
  const { status } = await call(tab, "GET", "/v1/me");
  if (status !== 200) throw new Error(`the page cannot call the gateway: ${status}`);
  if (listener.seen.length > 0) return listener.seen[0].path;
  await tab.context().close();
  return left.length > 0 && left;
}

/** The script and scope of each worker; one that is being registered has no script yet. */
const registered = (tab) =>
  tab.evaluate(async () => {
    const every = await navigator.serviceWorker.getRegistrations();
    return every.map((one) => `${(one.active ?? one.waiting ?? one.installing)?.scriptURL} ${one.scope}`);
  });
