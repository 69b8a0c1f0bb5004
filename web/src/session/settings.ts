// What this browser remembers about how a person likes it. Nothing here is a decision.

import { useSyncExternalStore } from "react";
import type { InteractionMode } from "../api/generated";

export type Theme = "system" | "light" | "dark";

export interface Settings {
  /** Off: this client shows asks and does not answer them. */
  interaction: InteractionMode;
  /** One question with one choice is sent when it is chosen. */
  sendOnPick: boolean;
  notify: "unasked" | "on" | "off";
  theme: Theme;
}

const KEY = "holdstead:settings";
const START: Settings = { interaction: "on", sendOnPick: false, notify: "unasked", theme: "system" };

const listeners = new Set<() => void>();
let current: Settings = read();

function read(): Settings {
  try {
    return { ...START, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    // Storage is off or unreadable: memory alone then.
    return START;
  }
}

export const settings = (): Settings => current;

export function change(part: Partial<Settings>): void {
  current = { ...current, ...part };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // As above.
  }
  for (const listener of listeners) listener();
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  const fromAnotherTab = (event: StorageEvent) => {
    if (event.key !== KEY) return;
    current = read();
    listener();
  };
  addEventListener("storage", fromAnotherTab);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", fromAnotherTab);
  };
}

export const useSettings = (): Settings => useSyncExternalStore(subscribe, settings);
