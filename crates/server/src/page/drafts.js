// What was typed and not sent, by prompt. It outlives a reload, but never holds a secret there.

const kept = new Map();
const name = (promptId) => `draft:${promptId}`;

/** @returns {Record<string, any>} */
export function draft(promptId) {
  if (!kept.has(promptId)) {
    let stored = null;
    try {
      stored = JSON.parse(sessionStorage.getItem(name(promptId)));
    } catch {
      // Storage is off or unreadable: memory alone then.
    }
    kept.set(promptId, stored ?? {});
  }
  return kept.get(promptId);
}

/** @param {(key: string, value: any) => any} [withoutSecrets] a JSON replacer */
export function keep(promptId, withoutSecrets) {
  try {
    sessionStorage.setItem(name(promptId), JSON.stringify(draft(promptId), withoutSecrets));
  } catch {
    // As above.
  }
}

/** What was typed for one showing goes on to the next. */
export function carry(from, to) {
  if (from !== to && !kept.has(to)) kept.set(to, structuredClone(draft(from)));
}

export function forget(promptId) {
  kept.delete(promptId);
  try {
    sessionStorage.removeItem(name(promptId));
  } catch {
    // As above.
  }
}
