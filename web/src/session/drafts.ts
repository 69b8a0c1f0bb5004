// What was typed and not sent. It outlives a reload and a lost connection, and never holds a secret.

const PREFIX = "holdpoint:draft:";
const memory = new Map<string, unknown>();

export function readDraft<T>(name: string): T | null {
  if (memory.has(name)) return memory.get(name) as T;
  try {
    const stored = localStorage.getItem(PREFIX + name);
    return stored === null ? null : (JSON.parse(stored) as T);
  } catch {
    // Storage is off or unreadable: memory alone then.
    return null;
  }
}

/** @param stored what may lie on disk, where that is less than what is kept in memory */
export function keepDraft(name: string, value: unknown, stored: unknown = value): void {
  memory.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(stored));
  } catch {
    // As above.
  }
}

export function forgetDraft(name: string): void {
  memory.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // As above.
  }
}
