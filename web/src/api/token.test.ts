import { beforeEach, describe, expect, it, vi } from "vitest";
import { gateway } from "./gateway";
import { client } from "./generated/client.gen";
import { follow } from "./stream";
import { dropToken, keepToken, onTokenChange, token } from "./token";

const sent: Request[] = [];

beforeEach(() => {
  sent.length = 0;
  // Only browsers know what an address without a host means.
  client.setConfig({ baseUrl: "http://127.0.0.1:4780" });
  vi.stubGlobal("fetch", async (request: Request | string, init?: RequestInit) => {
    const whole = request instanceof Request ? request : `http://127.0.0.1:4780${request}`;
    // Its signal is of another kind than the test's.
    sent.push(new Request(whole, { ...init, signal: null }));
    return new Response("{}", { status: 401, headers: { "Content-Type": "application/json" } });
  });
});

describe("the token of this browser", () => {
  it("goes out as a header with calls, streams and a link that is opened again", async () => {
    await gateway.me().catch(() => {});
    expect(sent[0]?.headers.get("Authorization")).toBeNull();
    expect(keepToken("hs_1")).toBe(true);
    await gateway.me().catch(() => {});
    await gateway.login("code").catch(() => {});
    await new Promise<void>((done) => {
      const stop = follow({
        path: () => "/v1/interactions/events",
        onFrames: () => {},
        onConnected: () => {},
        onRefused: () => done(stop()),
      });
    });
    expect(sent.slice(1).map((request) => request.headers.get("Authorization"))).toEqual(Array(3).fill("Bearer hs_1"));
    expect(sent.every((request) => !new URL(request.url).search.includes("hs_1"))).toBe(true);
  });

  it("is gone when this browser logs out", () => {
    keepToken("hs_1");
    dropToken();
    expect(token()).toBeNull();
  });

  it("is not kept where the browser keeps nothing", () => {
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("denied", "SecurityError");
    });
    expect(keepToken("hs_1")).toBe(false);
    expect(token()).toBeNull();
  });

  it("is told about when another tab logs in or out", () => {
    const told: (string | null)[] = [];
    const stop = onTokenChange((secret) => told.push(secret));
    const happens = (key: string | null) => window.dispatchEvent(new StorageEvent("storage", { key }));
    keepToken("hs_2");
    happens("holdstead:token");
    happens("holdstead:settings");
    localStorage.clear();
    happens(null);
    stop();
    happens("holdstead:token");
    expect(told).toEqual(["hs_2", null]);
  });
});
