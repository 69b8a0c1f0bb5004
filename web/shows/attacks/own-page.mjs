// The person loads the page while another program has the port. Its page is of our origin: it may use the browser's key
// while it is shown. What it takes along must be worth nothing when the gateway is back.

import { authorizations, call, identity, signer } from "../as-browser.mjs";
import { pretender } from "./squatter.mjs";
import { attempt, gains, reload } from "./stage.mjs";

const MANY = 1_000;
const PAGE = "<!doctype html><title>Held</title><body>One moment";

export async function ownPage(stage) {
  console.log("A page of the other program's, in our origin:");
  const tab = await stage.person();
  // The newest nonce that this browser could have, and where nonces go.
  await call(tab, "GET", "/v1/me");
  const nonce = await tab.evaluate(() => globalThis.signer.newest());
  let advance;
  let read;
  await stage.squatted(pretender(PAGE), async () => {
    await tab.goto(`${stage.url}/`).catch(() => undefined);
    await tab.waitForFunction(() => document.title === "Held");
    const guesses = [nonce, "", "0", "A".repeat(43)];
    const lines = (method, path, body) =>
      Array.from({ length: MANY }, (_, at) => [method, path, body, at < 4 ? guesses[at] : guess(nonce, at)]);
    advance = await authorizations(tab, lines("GET", "/v1/me"));
    read = await tab.evaluate(everything, signer.toString());
  });
  const used = async (path, { method = "GET", body } = {}) => {
    for (const authorization of advance) {
      const headers = { authorization, "content-type": "application/json" };
      const gained = await gains(stage.url, { method, path, headers, body });
      if (gained) return gained;
    }
    return null;
  };
  await attempt(`${MANY} requests that it signed in advance`, () => used("/v1/me"));
  await attempt("the same for another address", () => used("/v1/devices"));
  await attempt("the same for another act", () => used("/v1/tickets", { method: "POST", body: "{}" }));
  await attempt("the same for a socket's ticket, and for a link", () =>
    used("/v1/login-links", { method: "POST", body: "{}" }),
  );
  await attempt("whatever it can read in this origin, as a bearer", async () => {
    for (const secret of new Set(read.text.match(/[\w.-]{16,}/g) ?? [])) {
      const gained = await gains(stage.url, {
        method: "GET",
        path: "/v1/me",
        headers: { authorization: `Bearer ${secret}` },
      });
      if (gained) return gained;
    }
    return null;
  });
  await attempt("to take the secret that stands for this browser out of it", () => read.exported);
  await reload(tab);
  await attempt("to stay when the person loads the page again", async () => (await tab.title()) === "Held");
  await attempt("to use a new login from a page that is still open", () => staysOpen(stage));
}

/** As nonces may look, with other digits. */
const guess = (nonce, at) => (nonce ? nonce.slice(0, -4) + at.toString(36).padStart(4, "A") : `${at}`);

/** Runs in its page: every place that a script can read, and every way to get at a key. */
async function everything(source) {
  // The shows' own reader of the key, which stands alone.
  new Function(`(${source})()`)();
  const pair = await globalThis.signer.pair();
  const token = localStorage.getItem("holdstead:token");
  const found = { exported: token && "a bearer", text: JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) };
  found.text += document.cookie;
  for (const name of await caches.keys())
    for (const one of await (await caches.open(name)).keys()) found.text += one.url;
  if (!pair) return found;
  const { subtle } = crypto;
  const wrapping = await subtle.generateKey({ name: "AES-GCM", length: 256 }, true, ["wrapKey", "unwrapKey"]);
  const ways = [
    ...["jwk", "pkcs8", "raw"].map((format) => () => subtle.exportKey(format, pair.privateKey)),
    () => subtle.wrapKey("pkcs8", pair.privateKey, wrapping, { name: "AES-GCM", iv: new Uint8Array(12) }),
    () => JSON.parse(JSON.stringify(pair.privateKey)).d ?? Promise.reject(new Error("nothing of it is written")),
  ];
  for (const way of ways)
    await Promise.resolve()
      .then(way)
      .then(
        (bytes) => {
          found.exported = `${bytes}`;
        },
        () => undefined,
      );
  return found;
}

/** The person logs out everywhere and opens a new link in another tab; the program's page is still open in the first. */
async function staysOpen(stage) {
  const old = await stage.person();
  const before = await identity(old);
  await stage.squatted(pretender(PAGE), async () => {
    await old.goto(`${stage.url}/`).catch(() => undefined);
    await old.waitForFunction(() => document.title === "Held");
  });
  await stage.loggedOutEverywhere();
  const fresh = await old.context().newPage();
  await stage.login(fresh);
  if ((await identity(fresh)) === before) return "the old identity is used again";
  if ((await old.title()) !== "Held") return null;
  const { status } = await call(old, "GET", "/v1/me");
  return status === 200 && "the old page used the new login";
}
