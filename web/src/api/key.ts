// A key of this browser. Scripts can sign with it, and none can read it.

import { sha256 } from "@noble/hashes/sha2.js";
import { toBase64Url } from "./base64";

export interface BrowserKey {
  pair: CryptoKeyPair;
  /** The public key as the gateway knows it. */
  name: string;
}

const P256 = { name: "ECDSA", namedCurve: "P-256" };
const WITH_SHA256 = { name: "ECDSA", hash: "SHA-256" };

/** Browsers have no WebCrypto on a page that came over plain http from another machine. */
export const canSign = (): boolean => globalThis.crypto?.subtle !== undefined;

export async function makeKey(): Promise<BrowserKey> {
  return named(await crypto.subtle.generateKey(P256, false, ["sign"]));
}

export async function named(pair: CryptoKeyPair): Promise<BrowserKey> {
  return { pair, name: toBase64Url(await crypto.subtle.exportKey("raw", pair.publicKey)) };
}

export async function sign(key: BrowserKey, text: string): Promise<string> {
  return toBase64Url(await crypto.subtle.sign(WITH_SHA256, key.pair.privateKey, new TextEncoder().encode(text)));
}

/** At once: WebCrypto's own waits for another thread, and an answer should not. */
export const digest = (body: Uint8Array): string => toBase64Url(sha256(body));
