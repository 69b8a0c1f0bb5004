// The token of this browser. It lies in the storage of this origin, which no other site and no other port can read, and
// goes out as a header. A cookie would go to every server on this host, an agent's own among them.

const KEY = "holdstead:token";

export function token(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    // Storage is off: this browser cannot be logged in.
    return null;
  }
}

/** Says whether this browser lets the page keep it. */
export function keepToken(secret: string): boolean {
  try {
    localStorage.setItem(KEY, secret);
  } catch {
    return false;
  }
  return token() === secret;
}

export function dropToken(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Nothing was kept.
  }
}

export function authorization(): Record<string, string> {
  const secret = token();
  return secret === null ? {} : { Authorization: `Bearer ${secret}` };
}

/** Another tab logged in or out. */
export function onTokenChange(tell: (secret: string | null) => void): () => void {
  const listener = (event: StorageEvent) => {
    // Without a key, everything was cleared.
    if (event.key === KEY || event.key === null) tell(token());
  };
  addEventListener("storage", listener);
  return () => removeEventListener("storage", listener);
}
