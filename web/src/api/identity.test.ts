import { webcrypto } from "node:crypto";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { fromBase64Url } from "./base64";
import { bearer, keepBearer } from "./bearer";
import { gateway } from "./gateway";
import { client } from "./generated/client.gen";
import { become, forget, identity, keepKeysIn, onIdentityChange } from "./identity";
import { makeKey } from "./key";
import type { Slot } from "./keyStore";
import { follow } from "./stream";

const HOST = "http://127.0.0.1:4780";
const NONCE = "new-nonce_1";
const sent: Request[] = [];
const kept: Record<Slot, CryptoKeyPair | null> = { own: null, next: null };
/** What the gateway says next; else 401. */
let answers: Response[] = [];

const refused = (code: string, headers = {}) =>
  new Response(JSON.stringify({ code }), {
    status: 401,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });

beforeEach(() => {
  sent.length = 0;
  answers = [];
  const clear = async () => {
    kept.own = null;
    kept.next = null;
  };
  clear();
  keepKeysIn({
    read: async (slot) => kept[slot],
    write: async (slot, pair) => {
      kept[slot] = pair;
    },
    clear,
  });
  const { subtle } = webcrypto;
  // jsdom's buffers are of another kind than Node's, too.
  vi.spyOn(subtle, "digest").mockImplementation((name, bytes) =>
    Object.getPrototypeOf(subtle).digest.call(subtle, name, Buffer.from(bytes as ArrayBuffer)),
  );
  vi.stubGlobal("crypto", webcrypto);
  // Only browsers know what an address without a host means.
  client.setConfig({ baseUrl: HOST });
  vi.stubGlobal(
    "Request",
    class extends Request {
      constructor(input: RequestInfo | URL, init?: RequestInit) {
        // The test's signals are of another kind than Node's.
        super(typeof input === "string" && input.startsWith("/") ? HOST + input : input, { ...init, signal: null });
      }
    },
  );
  vi.stubGlobal("fetch", async (request: Request) => {
    sent.push(request);
    return answers.shift() ?? refused("unauthenticated");
  });
});

const parameters = (request: Request | undefined): Record<string, string> => {
  const header = request?.headers.get("Authorization") ?? "";
  expect(header).toMatch(/^Signature /);
  return Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
};

async function isSignedBy(request: Request | undefined, lines: string[]): Promise<boolean> {
  const { key, signature } = parameters(request);
  const raw = fromBase64Url(key ?? "");
  const curve = { name: "ECDSA", namedCurve: "P-256" };
  const imported = await crypto.subtle.importKey("raw", raw, curve, false, ["verify"]);
  const bytes = new TextEncoder().encode(lines.join("\n"));
  return crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, imported, fromBase64Url(signature ?? ""), bytes);
}

const streamed = () =>
  new Promise<void>((done) => {
    const stop = follow({
      path: () => "/v1/interactions/events?after=1",
      onFrames: () => {},
      onConnected: () => {},
      onRefused: () => done(stop()),
    });
  });

describe("a browser that can sign", () => {
  it("signs method, origin, path with query, body and nonce of every request", async () => {
    await become({ kind: "key", key: await makeKey() });
    answers = [refused("nonce_refused", { "Holdstead-Nonce": NONCE })];
    await gateway.decisions({ q: "a b", before: undefined }).catch(() => {});
    await gateway.explain({ toolName: "Bash" } as never).catch(() => {});
    await streamed();
    expect(sent).toHaveLength(4);
    const [, read, wrote, stream] = sent;
    const empty = parameters(read).digest ?? "";
    const path = new URL(read?.url ?? "");
    const first = ["holdstead request 1", "GET", location.origin, path.pathname + path.search, empty, NONCE];
    expect(await isSignedBy(read, first)).toBe(true);
    const { digest = "" } = parameters(wrote);
    const body = await crypto.subtle.digest("SHA-256", await (wrote as Request).clone().arrayBuffer());
    expect(fromBase64Url(digest)).toEqual(new Uint8Array(body));
    const { pathname } = new URL(wrote?.url ?? "");
    const second = ["holdstead request 1", "POST", location.origin, pathname, digest, NONCE];
    expect(await isSignedBy(wrote, second)).toBe(true);
    const third = ["holdstead request 1", "GET", location.origin, "/v1/interactions/events?after=1", empty, NONCE];
    expect(await isSignedBy(stream, third)).toBe(true);
    expect(await isSignedBy(stream, third.with(3, "/v1/me"))).toBe(false);
  });

  it("repeats a request once for a nonce, with the same body, and not a second time", async () => {
    await become({ kind: "key", key: await makeKey() });
    const no = () => refused("nonce_refused", { "Holdstead-Nonce": "theirs" });
    answers = [no(), no(), no()];
    await expect(gateway.addRule("allow Read")).rejects.toThrow();
    expect(sent).toHaveLength(2);
    expect(parameters(sent[1]).nonce).toBe("theirs");
    expect(await Promise.all(sent.map((request) => request.text()))).toEqual(Array(2).fill('{"line":"allow Read"}'));
  });

  it("takes no nonce that would write into the header", async () => {
    await become({ kind: "key", key: await makeKey() });
    answers = [refused("nonce_refused", { "Holdstead-Nonce": 'x", key="y' })];
    await gateway.me().catch(() => {});
    expect(parameters(sent[1]).nonce).not.toContain("x");
  });

  it("follows no redirect", async () => {
    await become({ kind: "key", key: await makeKey() });
    await gateway.me().catch(() => {});
    expect(sent[0]?.redirect).toBe("error");
  });

  it("holds a key that no script can read", async () => {
    const { pair } = await makeKey();
    expect(pair.privateKey.extractable).toBe(false);
    await expect(crypto.subtle.exportKey("jwk", pair.privateKey)).rejects.toThrow();
  });

  it("exchanges an earlier bearer once, and sends it no more", async () => {
    keepBearer("hs_1");
    answers = [new Response(null, { status: 204 })];
    await Promise.all([gateway.me().catch(() => {}), gateway.rules().catch(() => {})]);
    const exchanges = sent.filter(({ url }) => url.endsWith("/v1/login/exchange"));
    expect(await Promise.all(exchanges.map((request) => request.json()))).toEqual([{ token: "hs_1" }]);
    expect(bearer()).toBeNull();
    expect(kept.own).not.toBeNull();
    await gateway.me().catch(() => {});
    const { key } = parameters(exchanges[0]);
    expect(sent.map((request) => parameters(request).key)).toEqual(Array(sent.length).fill(key));
  });

  it("keeps an earlier bearer while the gateway cannot be reached, and uses it for nothing else", async () => {
    keepBearer("hs_1");
    answers = [new Response("{}", { status: 503 })];
    await gateway.me().catch(() => {});
    expect(bearer()).toBe("hs_1");
    expect(sent.every(({ headers }) => !headers.get("Authorization")?.includes("hs_1"))).toBe(true);
  });

  it("has the key of an exchange whose answer was lost, and shows it again", async () => {
    keepBearer("hs_1");
    answers = [new Response("{}", { status: 502 }), new Response(null, { status: 204 })];
    await gateway.me().catch(() => {});
    expect([kept.own, bearer()]).toEqual([null, "hs_1"]);
    await gateway.me().catch(() => {});
    const [lost, again] = sent.filter(({ url }) => url.endsWith("/v1/login/exchange"));
    expect(parameters(again).key).toBe(parameters(lost).key);
    expect([kept.own, bearer()]).toEqual([kept.next, null]);
  });

  it("keeps its bearer where only the nonce or the signature is refused", async () => {
    for (const code of ["nonce_refused", "bad_signature"]) {
      keepBearer("hs_1");
      answers = [refused(code), refused(code)];
      await gateway.me().catch(() => {});
      expect(bearer(), code).toBe("hs_1");
    }
  });

  it("spends no bearer where the browser keeps no key", async () => {
    keepBearer("hs_1");
    const no = async () => Promise.reject(new DOMException("denied", "SecurityError"));
    keepKeysIn({ read: no, write: no, clear: no });
    await gateway.me().catch(() => {});
    expect([sent.length, bearer()]).toEqual([0, "hs_1"]);
  });

  it("fails where its key cannot be read, and is not logged out", async () => {
    const no = async () => Promise.reject(new Error("busy"));
    keepKeysIn({ read: no, write: no, clear: no });
    await expect(gateway.me()).rejects.toThrow();
    expect(sent).toHaveLength(0);
  });

  it("keeps nothing when it logs out", async () => {
    await become({ kind: "key", key: await makeKey() });
    await forget();
    expect([kept.own, kept.next]).toEqual([null, null]);
    await gateway.me().catch(() => {});
    expect(sent[0]?.headers.get("Authorization")).toBeNull();
  });
});

describe("a browser that cannot sign", () => {
  beforeEach(() => vi.stubGlobal("crypto", { getRandomValues: webcrypto.getRandomValues.bind(webcrypto) }));

  it("sends its bearer with calls and streams, never in an address", async () => {
    await become({ kind: "bearer", secret: "hsb_1" });
    await gateway.me().catch(() => {});
    await streamed();
    expect(sent.map((request) => request.headers.get("Authorization"))).toEqual(Array(2).fill("Bearer hsb_1"));
    expect(sent.every((request) => !request.url.includes("hsb_1"))).toBe(true);
  });

  it("is given a bearer of this origin for an earlier one", async () => {
    keepBearer("hs_1");
    answers = [new Response('{"token":"hsb_2"}', { headers: { "Content-Type": "application/json" } })];
    await gateway.me().catch(() => {});
    expect(bearer()).toBe("hsb_2");
    expect(sent.map((request) => request.headers.get("Authorization"))).toEqual([null, "Bearer hsb_2"]);
  });

  it("is not logged in where the browser keeps nothing", async () => {
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("denied", "SecurityError");
    });
    expect(await become({ kind: "bearer", secret: "hsb_1" })).toBe(false);
    expect(await identity()).toBeNull();
  });
});

describe("the other tabs", () => {
  it("are told when this one logs in or out", async () => {
    const news: string[] = [];
    const stop = onIdentityChange((one) => news.push(one));
    const other = new BroadcastChannel("holdstead");
    const heard: unknown[] = [];
    other.onmessage = ({ data }) => heard.push(data);
    await become({ kind: "bearer", secret: "hsb_1" });
    await forget();
    for (const one of ["in", "out", "something else"]) other.postMessage(one);
    await vi.waitFor(() =>
      expect([heard, news]).toEqual([
        ["in", "out"],
        ["in", "out"],
      ]),
    );
    stop();
    other.close();
  });
});
