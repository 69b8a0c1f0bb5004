// The service worker of this origin. Another program that held this port for a while can have left one of its own, which
// would see what this browser sends: a worker that is not ours goes. Browsers have workers only over TLS and on this machine.

const SCRIPT = "/service-worker.js";
const PATIENCE_MS = 3_000;

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(input: string): string };
}

const hasWorkers = import.meta.env.PROD && isSecureContext && "serviceWorker" in navigator;

/** The one script address that this page may name: every other name becomes this one. */
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy("shell", {
  createScriptURL: () => SCRIPT,
});

/** Our worker, as the gateway has it now. It throws where the gateway does not give it. */
async function ours(): Promise<ServiceWorkerRegistration> {
  const url = policy?.createScriptURL(SCRIPT) ?? SCRIPT;
  const registration = await navigator.serviceWorker.register(url, { scope: "/", updateViaCache: "none" });
  // Under our own name there may be a script of another program.
  if (!registration.installing) await registration.update();
  return registration;
}

const isOurs = (worker: ServiceWorker | null): boolean =>
  worker === null || worker.scriptURL === location.origin + SCRIPT;

/** Ends every foreign registration, at every scope, and loads this page again where one of them stood before it. */
export async function endForeign(): Promise<void> {
  const all = await navigator.serviceWorker.getRegistrations();
  const foreign = all.filter(
    ({ scope, installing, waiting, active }) =>
      scope !== `${location.origin}/` || ![installing, waiting, active].every(isOurs),
  );
  await Promise.all(foreign.map((registration) => registration.unregister()));
  if (isOurs(navigator.serviceWorker.controller)) return;
  location.reload();
  // What follows is for the next load.
  await new Promise(() => {});
}

/** Without a worker the page works as before, so it does not wait for this. */
export function keepOurWorker(): void {
  if (hasWorkers)
    endForeign()
      .then(ours)
      .catch(() => undefined);
}

/**
 * Before this browser logs in: no worker but ours stands between the page and the gateway, and every other window of this
 * origin has loaded the gateway's page, so nothing that another program left here can use the new key.
 */
export async function onlyOurs(): Promise<void> {
  if (!hasWorkers) return;
  await endForeign();
  const registration = await ours().catch((error) => {
    if (navigator.serviceWorker.controller) throw error;
  });
  // A browser can refuse workers; then there is none of another program either.
  if (!registration) return;
  const worker = await active(registration);
  const { port1, port2 } = new MessageChannel();
  const others = new Promise((done) => {
    port1.onmessage = done;
  });
  worker.postMessage("load other windows", [port2]);
  await Promise.race([others, new Promise((done) => setTimeout(done, PATIENCE_MS))]);
}

/** The newest worker of it. One that took the place of another loads this page again by itself. */
async function active(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  const next = registration.installing ?? registration.waiting ?? registration.active;
  if (!next) throw new Error("The page's service worker did not start.");
  while (next.state !== "activated") {
    if (next.state === "redundant") throw new Error("The page's service worker did not start. Load the page again.");
    await new Promise((done) => next.addEventListener("statechange", done, { once: true }));
  }
  return next;
}
