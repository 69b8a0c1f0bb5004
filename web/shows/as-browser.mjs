// What a script of the gateway's origin can send in a logged-in browser's name: it may use the key, and cannot read it.

/** Calls the gateway from a page, as its browser. A nonce is fetched where one is needed. */
export async function call(page, method, path, body, headers = {}) {
  await page.evaluate(signer);
  const { status, text } = await page.evaluate(
    (request) => globalThis.signer.call(...request),
    [method, path, body && JSON.stringify(body), headers],
  );
  return { status, body: read(text) };
}

const read = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return text === "" ? null : text;
  }
};

/** The `Authorization` of requests, `[method, path, body, nonce]` each, which are not sent. */
export async function authorizations(page, requests) {
  await page.evaluate(signer);
  return page.evaluate(async (requests) => {
    const all = [];
    for (const request of requests) all.push(await globalThis.signer.authorization(...request));
    return all;
  }, requests);
}

/** What this browser sends to say who it is: its public key, the bearer of an earlier gateway, or nothing. */
export async function identity(page) {
  await page.evaluate(signer);
  return page.evaluate(async () => {
    const pair = await globalThis.signer.pair();
    return pair ? globalThis.signer.name(pair) : localStorage.getItem("holdstead:token");
  });
}

/** Runs in the page, so it stands alone. */
export function signer() {
  const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
  const text = (bytes) => base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const utf8 = (words) => new TextEncoder().encode(words);
  const name = async (pair) => text(await crypto.subtle.exportKey("raw", pair.publicKey));

  async function pair() {
    const known = await indexedDB.databases();
    if (!known.some((one) => one.name === "holdstead")) return null;
    return new Promise((done, fail) => {
      const opening = indexedDB.open("holdstead");
      opening.onerror = () => fail(opening.error);
      opening.onsuccess = () => {
        const reading = opening.result.transaction("keys").objectStore("keys").get("own");
        reading.onsuccess = () => {
          opening.result.close();
          done(reading.result ?? null);
        };
      };
    });
  }

  async function authorization(method, path, body, nonce) {
    const own = globalThis.isSecureContext ? await pair() : null;
    if (!own) return `Bearer ${localStorage.getItem("holdstead:token")}`;
    const digest = text(await crypto.subtle.digest("SHA-256", utf8(body ?? "")));
    const lines = ["holdstead request 1", method, location.origin, path, digest, nonce];
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    const signature = text(await crypto.subtle.sign(algorithm, own.privateKey, utf8(lines.join("\n"))));
    return `Signature key="${await name(own)}", nonce="${nonce}", digest="${digest}", signature="${signature}"`;
  }

  let newest = "";
  async function call(method, path, body, more) {
    const once = async () => {
      const headers = { ...(body && { "Content-Type": "application/json" }), ...more };
      headers.Authorization = await authorization(method, path, body, newest);
      const answer = await fetch(path, { method, headers, body });
      const nonce = answer.headers.get("Holdstead-Nonce");
      if (nonce) newest = nonce;
      return { status: answer.status, text: await answer.text(), again: answer.status === 401 && nonce !== null };
    };
    const first = await once();
    return first.again ? once() : first;
  }

  globalThis.signer ??= { pair, name, authorization, call, newest: () => newest };
}
