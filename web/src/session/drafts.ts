// What was typed and not sent. It outlives a reload and a lost connection, and never holds a secret.

const PREFIX = "holdstead:draft:";
const KEPT_MS = 30 * 24 * 3600 * 1000;
const memory = new Map<string, unknown>();

interface Stored {
  at: number;
  value: unknown;
}

function read(key: string): Stored | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    // Storage is off or unreadable: memory alone then.
    return null;
  }
}

function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify({ at: Date.now(), value } satisfies Stored));
  } catch {
    // As above.
  }
}

/** Drafts of asks that were answered elsewhere are of no use after a while. */
export function forgetOldDrafts(now: number): void {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    for (const key of keys) if (now - (read(key)?.at ?? 0) > KEPT_MS) localStorage.removeItem(key);
  } catch {
    // As above.
  }
}

export function readDraft<T>(name: string): T | null {
  if (memory.has(name)) return memory.get(name) as T;
  return (read(PREFIX + name)?.value as T | undefined) ?? null;
}

/** @param stored what may lie on disk, where that is less than what is kept in memory */
export function keepDraft(name: string, value: unknown, stored: unknown = value): void {
  memory.set(name, value);
  write(PREFIX + name, stored);
}

export function forgetDraft(name: string): void {
  memory.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // As above.
  }
}

/** What was typed for one showing goes on to the next. */
export function carryDraft(from: string, to: string): void {
  const value = readDraft(from);
  if (value === null || readDraft(to) !== null) return;
  keepDraft(to, value, read(PREFIX + from)?.value ?? null);
  forgetDraft(from);
}

/** As a reload does. */
export const forgetMemory = (): void => memory.clear();
