// A secret that stands for this browser. One remains only where the browser cannot sign: over plain http from another
// machine. It lies in the storage of this origin, and goes out as a header; a cookie would go to every port of the host.

const PLACE = "holdstead:token";

export function bearer(): string | null {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    // Storage is off: this browser cannot be logged in.
    return null;
  }
}

/** Says whether this browser lets the page keep it. */
export function keepBearer(secret: string): boolean {
  try {
    localStorage.setItem(PLACE, secret);
  } catch {
    return false;
  }
  return bearer() === secret;
}

export function dropBearer(): void {
  try {
    localStorage.removeItem(PLACE);
  } catch {
    // Nothing was kept.
  }
}

/** Earlier gateways gave every browser one of these. It is exchanged once. */
export const isOld = (secret: string): boolean => !secret.startsWith("hsb_");
