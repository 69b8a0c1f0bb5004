// Requests that carry proof of who this browser is. A signature holds for one request, this origin and a nonce of the
// gateway's, so another program at this port can do nothing with it.

import { exchangeOld } from "./exchange";
import { type Identity, identity } from "./identity";
import { type BrowserKey, digest, sign } from "./key";

const NONCE = /^[\w.~+/=-]{1,512}$/;

/** The development server is not the gateway, and hands requests on to it. */
const ORIGIN: string = import.meta.env.GATEWAY ?? location.origin;

/** The newest nonce that this tab was given. A wrong one costs one more request. */
let nonce = "";

/** The body of a request, where its maker told: a browser takes milliseconds to read one back, or to copy it. */
const bodies = new WeakMap<Request, string>();

export function says<T extends Request>(request: T, body: string): T {
  bodies.set(request, body);
  return request;
}

/** As `fetch`, in the name of this browser. */
export async function signedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  return send((await exchangeOld(send)) ?? (await identity()), input, init);
}

export async function send(who: Identity | null, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const told = input instanceof Request ? bodies.get(input) : undefined;
  // The gateway redirects no call, and another program must not send one elsewhere.
  const made = () => new Request(input, { ...init, ...(told !== undefined && { body: told }), redirect: "error" });
  const request = made();
  if (who?.kind !== "key") {
    if (who) request.headers.set("Authorization", `Bearer ${who.secret}`);
    return fetch(request);
  }
  const bodyDigest = digest(
    told === undefined ? new Uint8Array(await request.clone().arrayBuffer()) : new TextEncoder().encode(told),
  );
  const once = async (attempt: Request) => {
    attempt.headers.set("Authorization", await authorization(who.key, attempt, bodyDigest, nonce));
    const answer = await fetch(attempt);
    const given = answer.headers.get("Holdstead-Nonce");
    if (given !== null && NONCE.test(given)) nonce = given;
    return answer;
  };
  const spare = told === undefined ? request.clone() : null;
  const answer = await once(request);
  return (await isNonceRefused(answer)) ? once(spare ?? made()) : answer;
}

async function authorization(key: BrowserKey, { method, url }: Request, bodyDigest: string, nonce: string) {
  const { pathname, search } = new URL(url);
  const lines = ["holdstead request 1", method, ORIGIN, pathname + search, bodyDigest, nonce];
  const signature = await sign(key, lines.join("\n"));
  return `Signature key="${key.name}", nonce="${nonce}", digest="${bodyDigest}", signature="${signature}"`;
}

async function isNonceRefused(answer: Response): Promise<boolean> {
  if (answer.status !== 401 || !answer.headers.has("Holdstead-Nonce")) return false;
  const problem: unknown = await answer
    .clone()
    .json()
    .catch(() => null);
  return typeof problem === "object" && problem !== null && "code" in problem && problem.code === "nonce_refused";
}
