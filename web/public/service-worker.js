// Keeps the page's own files for when the gateway cannot be reached: the page then says so itself. An answer of the API is
// never kept and never touched. The gateway is asked first for everything, so a newer one brings its own page.
//
// The gateway answers every request for a worker's script with this one. So it also takes the place of a worker that
// another program left while it held this port, and nothing of that program may stay.

const SHELL = "shell";
const INDEX = "/";
/** The page's files. Those that run carry their digest in the page, and the browser checks it. */
const FILES = /^\/(assets\/.*|theme\.js|icon[\w-]*\.svg)$/;
/** What is not a screen: the API and its neighbours, and files. */
const NOT_A_SCREEN = /^\/(v1|api|mcp|healthz|readyz)(\/|$)|\.\w+$/;

const { origin } = self.location;
const isAtOurPlace =
  self.location.href === `${origin}/service-worker.js` && self.registration.scope === `${origin}/`;
let tookAPlace = false;

self.addEventListener("install", () => {
  tookAPlace = self.registration.active !== null;
  self.skipWaiting();
});

self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

async function takeOver() {
  for (const name of await caches.keys()) await caches.delete(name);
  await self.clients.claim();
  if (!isAtOurPlace) {
    await self.registration.unregister();
    await loadAgain(await openWindows());
    return;
  }
  // Loads wait until this worker is active, so it waits for none here.
  if (tookAPlace) void loadAgain(await openWindows());
  void fetch(INDEX, { cache: "no-store" }).then(keepIndex).catch(() => undefined);
}

const openWindows = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

/** A page that was there before may be another program's. */
const loadAgain = (windows) => Promise.allSettled(windows.map((one) => one.navigate(one.url)));

self.addEventListener("message", (event) => {
  if (event.data !== "load other windows") return;
  event.waitUntil(loadOthers(event.source).finally(() => event.ports[0].postMessage("done")));
});

async function loadOthers({ id }) {
  await self.clients.claim();
  await loadAgain((await openWindows()).filter((one) => one.id !== id));
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin: site, pathname } = new URL(request.url);
  if (request.method !== "GET" || site !== origin) return;
  if (request.mode === "navigate" && !NOT_A_SCREEN.test(pathname)) event.respondWith(screen(event));
  else if (FILES.test(pathname)) event.respondWith(file(event));
});

async function screen(event) {
  try {
    const fresh = await fetch(event.request, { cache: "no-store" });
    event.waitUntil(keepIndex(fresh.clone()));
    return fresh;
  } catch {
    return (await caches.match(INDEX, { cacheName: SHELL })) ?? Response.error();
  }
}

/** A page that differs from the kept one takes its place, and that of all its files. */
async function keepIndex(fresh) {
  if (!fresh.ok || fresh.redirected || !fresh.headers.get("content-type")?.startsWith("text/html")) return;
  const kept = await caches.match(INDEX, { cacheName: SHELL });
  if (kept && (await kept.text()) === (await fresh.clone().text())) return;
  await caches.delete(SHELL);
  await (await caches.open(SHELL)).put(INDEX, fresh);
}

/** Of what was kept, by us or by the browser, only that counts whose digest the page names: the rest is the gateway's to say. */
async function file(event) {
  const { request } = event;
  const kept = await caches.match(request, { cacheName: SHELL });
  if (kept && (await isNamed(kept.clone(), request.integrity))) return kept;
  try {
    const fresh = await fetch(request, { cache: "reload" });
    if (fresh.ok) {
      const copy = fresh.clone();
      event.waitUntil(caches.open(SHELL).then((shell) => shell.put(request, copy)));
    }
    return fresh;
  } catch {
    return kept ?? Response.error();
  }
}

async function isNamed(kept, integrity) {
  if (!integrity) return false;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-384", await kept.arrayBuffer()));
  return integrity === `sha384-${btoa(String.fromCharCode(...digest))}`;
}
