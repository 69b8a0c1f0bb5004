// Who this browser is to the gateway: the holder of a key, or, where it cannot sign, of a bearer. All tabs share it.

import { bearer, dropBearer, isOld, keepBearer } from "./bearer";
import { type BrowserKey, canSign, makeKey, named } from "./key";
import { browserKeys, type KeyStore, type Slot } from "./keyStore";

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
  known ??= read().catch((error) => {
    // The key may be there all the same, so this browser is not logged out: the request fails, and is tried again.
    known = null;
    throw error;
  });
  return known;
}

async function read(): Promise<Identity | null> {
  const pair = canSign() ? await keys.read("own") : null;
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

const keepKey = (key: BrowserKey, slot: Slot = "own"): Promise<boolean> =>
  keys.write(slot, key.pair).then(
    () => true,
    () => false,
  );

/** A key that this browser may `become`, kept already. Null: the browser lets the page keep none. */
export async function nextKey(): Promise<BrowserKey | null> {
  const key = await makeKey();
  return (await keepKey(key, "next")) ? key : null;
}

/** The same, or the one of an attempt whose answer was lost: the gateway may know it by now. */
export async function sameNextKey(): Promise<BrowserKey | null> {
  const pair = await keys.read("next").catch(() => null);
  return pair ? named(pair) : nextKey();
}

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
