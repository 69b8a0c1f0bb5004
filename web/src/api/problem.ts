import type { Code, Refusal, Winner } from "./generated";

/** What went wrong, as the gateway says it; `network` if it said nothing. */
export class Problem extends Error {
  readonly status: number;
  readonly code: Code | "network" | "unreadable";
  readonly winner: Winner | null;
  readonly fieldErrors: Record<string, string>;

  constructor(status: number, body: Partial<Omit<Refusal, "code">> & { code?: Problem["code"]; title?: string }) {
    super(body.detail || body.title || `The gateway answered ${status}.`);
    this.status = status;
    this.code = body.code ?? "unreadable";
    this.winner = body.winner ?? null;
    this.fieldErrors = body.fieldErrors ?? {};
  }

  static network(): Problem {
    return new Problem(0, { code: "network", detail: "The gateway did not answer." });
  }

  /** It may or may not have arrived: sending it again with the same key is safe. */
  get isUncertain(): boolean {
    return this.code === "network" || this.status >= 500;
  }
}

/** The gateway does not know this browser. */
export const LOGGED_OUT = "unauthenticated";

/** Whether trying again is of no use without another link. A gateway that refuses only the nonce may take the next one. */
export const isLoggedOut = (error: unknown): boolean =>
  error instanceof Problem && error.status === 401 && error.code !== "nonce_refused";

/** Whatever was thrown, in words for a person. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
