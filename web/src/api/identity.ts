// Who this browser is to the gateway: the holder of a key, or, where it cannot sign, of a bearer. All tabs share it.

import { bearer, dropBearer, isOld, keepBearer } from "./bearer";
import { type BrowserKey, canSign, named } from "./key";
import { browserKeys, type KeyStore } from "./keyStore";

export type Identity = { kind: "key"; key: BrowserKey } | { kind: "bearer"; secret: string };

type News = "in" | "out";

let keys: KeyStore = browserKeys;
/** Read once: reading it for each request would cost more than to sign. */
let known: Promise<Identity | null> | null = null;
let channel: BroadcastChannel | null = null;

/** Tests bring a store of their own. */
export function keepKeysIn(store: KeyStore): void {
  keys = store;
  known = null;
}

export function identity(): Promise<Identity | null> {
  known ??= read().catch(() => {
    known = null;
    return null;
  });
  return known;
}

async function read(): Promise<Identity | null> {
  const pair = canSign() ? await keys.read() : null;
  if (pair) return { kind: "key", key: await named(pair) };
  const secret = bearer();
  return secret === null || isOld(secret) ? null : { kind: "bearer", secret };
}

/** This browser is that one from now on, in all tabs. Says whether the browser lets the page keep it. */
export async function become(next: Identity): Promise<boolean> {
  const isKept = next.kind === "key" ? await keepKey(next.key) : keepBearer(next.secret);
  if (!isKept) return false;
  if (next.kind === "key") dropBearer();
  known = Promise.resolve(next);
  tell("in");
  return true;
}

const keepKey = (key: BrowserKey): Promise<boolean> =>
  keys.write(key.pair).then(
    () => true,
    () => false,
  );

/** Logged out: nothing of it stays in this browser. */
export async function forget(): Promise<void> {
  known = Promise.resolve(null);
  dropBearer();
  if (canSign()) await keys.clear().catch(() => undefined);
  tell("out");
}

/** Hears of log-ins and log-outs of the other tabs. */
export function onIdentityChange(hear: (news: News) => void): () => void {
  const tabs = tabsOfThisOrigin();
  const listener = ({ data }: MessageEvent) => {
    if (data !== "in" && data !== "out") return;
    known = null;
    hear(data);
  };
  tabs.addEventListener("message", listener);
  return () => tabs.removeEventListener("message", listener);
}

function tell(news: News): void {
  tabsOfThisOrigin().postMessage(news);
}

function tabsOfThisOrigin(): BroadcastChannel {
  channel ??= new BroadcastChannel("holdstead");
  return channel;
}
