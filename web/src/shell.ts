// The page's own files, kept for when the gateway cannot be reached, and never for longer than it has the same ones.
// Browsers allow it only over TLS and on this machine itself.

import { endForeign, keepOurWorker } from "./worker";

const AGAIN_MS = 5_000;
const RELOADED = "holdstead:reloaded-for";

export function keepShell(): void {
  if (!import.meta.env.PROD || !isSecureContext || !("serviceWorker" in navigator)) return;
  keepOurWorker();
  void follow();
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void follow());
}

let waiting: ReturnType<typeof setTimeout> | undefined;

/** Asks until the gateway answers, and loads its page if it has another one by now. */
async function follow(): Promise<void> {
  const served = await scriptOfGateway();
  clearTimeout(waiting);
  if (served === null) {
    waiting = setTimeout(() => void follow(), AGAIN_MS);
    return;
  }
  // Another program may have answered at this port meanwhile.
  void endForeign();
  const own = document.querySelector<HTMLScriptElement>("script[type=module]")?.getAttribute("src");
  if (served === own || sessionStorage.getItem(RELOADED) === served) return;
  // Once for each: a proxy that keeps an old page must not make it blink for ever.
  sessionStorage.setItem(RELOADED, served);
  location.reload();
}

async function scriptOfGateway(): Promise<string | null> {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    return answer.ok ? (/src="(\/assets\/[^"]+\.js)"/.exec(await answer.text())?.[1] ?? null) : null;
  } catch {
    return null;
  }
}
