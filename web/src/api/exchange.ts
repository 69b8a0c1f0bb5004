// Browsers that an earlier gateway logged in hold a bearer. It goes out once more, for a key, or for a bearer that is
// bound to this origin.

import { bearer, dropBearer, isOld } from "./bearer";
import { become, type Identity, sameNextKey } from "./identity";
import { canSign } from "./key";
import { LOGGED_OUT, Problem } from "./problem";

const KEEPS_NOTHING = "This browser lets this page keep nothing, so it cannot stay logged in. Allow it to store data.";

type Send = (who: Identity | null, path: string, init: RequestInit) => Promise<Response>;

/** The one of this tab that is under way. */
let exchanging: Promise<Identity | null> | null = null;

/** Who this browser is after the exchange, or null where there was nothing to exchange. */
export async function exchangeOld(send: Send): Promise<Identity | null> {
  if (!hasOld()) return null;
  exchanging ??= alone(() => exchange(send)).finally(() => {
    exchanging = null;
  });
  return exchanging;
}

/** One tab does it, and the others find it done. Browsers have locks where they can sign. */
const alone = <T>(act: () => Promise<T>): Promise<T> =>
  navigator.locks ? navigator.locks.request("holdstead:exchange", act) : act();

const hasOld = (): boolean => {
  const secret = bearer();
  return secret !== null && isOld(secret);
};

async function exchange(send: Send): Promise<Identity | null> {
  const token = bearer();
  if (token === null || !isOld(token)) return null;
  // Kept before the gateway knows it: this page may be closed before the answer comes, and the token is spent then.
  const key = canSign() ? await sameNextKey() : null;
  if (canSign() && key === null) throw new Error(KEEPS_NOTHING);
  const fresh: Identity | null = key && { kind: "key", key };
  const answer = await send(fresh, "/v1/login/exchange", {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
    cache: "no-store",
  });
  if (!answer.ok) {
    const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
    if (problem.code !== LOGGED_OUT) throw problem;
    // Worth nothing any more: this browser has to log in, unless another tab exchanged it meanwhile.
    if (bearer() === token) dropBearer();
    return null;
  }
  const given: { token?: string | null } = fresh ? {} : await answer.json();
  const next = fresh ?? (given.token ? ({ kind: "bearer", secret: given.token } as const) : null);
  return next !== null && (await become(next)) ? next : null;
}
