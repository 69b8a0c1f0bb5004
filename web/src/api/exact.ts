// JSON whose numbers keep their digits. A browser rounds 9007199254740993 to ...992: what is shown would not be what runs.

/** A number that a browser cannot hold, as it was written. */
export class ExactNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
  toJSON(): unknown {
    return json.rawJSON?.(this.source) ?? Number(this.source);
  }
  toString(): string {
    return this.source;
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const json = JSON as unknown as {
  parse(text: string, reviver?: Reviver): unknown;
  rawJSON?: (source: string) => unknown;
};

/** Most texts have no such number, and a reviver is slow. */
const MAY_BE_INEXACT = /\d[\d.]{15}|\d[eE][+-]?\d/;

const keep: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source || isSame(value, context.source) ? value : new ExactNumber(context.source);
};

/** The same number in other words, as `1.50` and `1.5`. */
const isSame = (value: number, source: string) => /^-?[\d.]{1,15}$/.test(source) && Number.isFinite(value);

export function parseExact(text: string): unknown {
  return json.rawJSON && MAY_BE_INEXACT.test(text) ? json.parse(text, keep) : json.parse(text);
}

/** A whole number that was rounded, in a browser that cannot keep its digits. */
export function isRounded(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (value instanceof ExactNumber) return json.rawJSON === undefined;
  return value !== null && typeof value === "object" && Object.values(value).some(isRounded);
}
