// Keeps the page's own files for when the gateway cannot be reached: the page then says so itself. An answer of the API is
// never kept and never touched. The gateway is asked first wherever the page is opened, so a newer one brings its own page.

const SHELL = "shell";
const INDEX = "/";
/** Small files of the page whose names stay the same. */
const BESIDE = /^\/(theme\.js|icon[\w-]*\.svg)$/;
/** What is not a screen: the API and its neighbours, and files. */
const NOT_A_SCREEN = /^\/(v1|api|mcp|healthz|readyz)(\/|$)|\.\w+$/;

self.addEventListener("install", (event) => {
  event.waitUntil(
    fetch(INDEX, { cache: "no-store" })
      .then(keepIndex)
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate" && !NOT_A_SCREEN.test(pathname)) event.respondWith(screen(event));
  else if (pathname.startsWith("/assets/")) event.respondWith(asset(event));
  else if (BESIDE.test(pathname)) event.respondWith(beside(event));
});

async function screen(event) {
  try {
    const fresh = await fetch(event.request);
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

async function beside(event) {
  try {
    const fresh = await fetch(event.request);
    keep(event, fresh);
    return fresh;
  } catch {
    return (await caches.match(event.request, { cacheName: SHELL })) ?? Response.error();
  }
}

function keep(event, fresh) {
  if (!fresh.ok) return;
  const copy = fresh.clone();
  event.waitUntil(caches.open(SHELL).then((shell) => shell.put(event.request, copy)));
}

/** Their names carry a hash of what is in them. */
async function asset(event) {
  const kept = await caches.match(event.request, { cacheName: SHELL });
  if (kept) return kept;
  const fresh = await fetch(event.request);
  keep(event, fresh);
  return fresh;
}
