// Browsers that an earlier gateway logged in hold a bearer. It goes out once more, for a key, or for a bearer that is
// bound to this origin.

import { bearer, dropBearer, isOld } from "./bearer";
import { become, type Identity } from "./identity";
import { canSign, makeKey } from "./key";

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
  const fresh: Identity | null = canSign() ? { kind: "key", key: await makeKey() } : null;
  const answer = await send(fresh, "/v1/login/exchange", {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
    cache: "no-store",
  });
  // Worth nothing any more: this browser has to log in, unless another tab exchanged it meanwhile.
  if (answer.status === 401 && bearer() === token) dropBearer();
  if (!answer.ok) return null;
  const given: { token?: string | null } = fresh ? {} : await answer.json();
  const next = fresh ?? (given.token ? ({ kind: "bearer", secret: given.token } as const) : null);
  return next !== null && (await become(next)) ? next : null;
}
