// What lies over the page, one at a time. Buttons, keys and the palette open it from anywhere.

import { useSyncExternalStore } from "react";

export type Sheet = "new session" | "palette" | null;

let current: Sheet = null;
const listeners = new Set<() => void>();

export function show(sheet: Sheet): void {
  current = sheet;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSheet = (): Sheet => useSyncExternalStore(subscribe, () => current);
