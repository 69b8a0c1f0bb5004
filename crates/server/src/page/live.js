// What this page knows now: who looks, the asks, the sessions. Screens read it and are told when it changes.

import { api, follow } from "./api.js";
import { isNews, isOpen, merge, mergeSnapshot, openAsks } from "./asks.js";

const SESSIONS_EVERY_MS = 5_000;
const TICK_MS = 10_000;

export const live = {
  /** @type {{name: string, role: string, version: string} | null} */
  me: null,
  asks: new Map(),
  sessions: [],
  connected: true,
  /** Nothing is said about an empty inbox before the first snapshot. */
  ready: false,
};

const listeners = new Set();

/** @returns {() => void} stops it */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = () => listeners.forEach((listener) => listener());

export const session = (id) => live.sessions.find((one) => one.sessionId === id);

/** The ask as it is now. Parking is a change of the session, not of the ask. */
export function ask(id) {
  const known = live.asks.get(id);
  if (!known || !isOpen(known)) return known;
  const parked = known.parked || ["parked", "parking"].includes(session(known.sessionId)?.state);
  return parked === known.parked ? known : { ...known, parked };
}

export const waitingAsks = (sessionId) =>
  openAsks(live.asks)
    .filter((one) => !sessionId || one.sessionId === sessionId)
    .map((one) => ask(one.request.interactionId));

export const mayAnswer = () => live.me?.role === "person" || live.me?.role === "admin";

/** Read an ask again. */
export async function refresh(id) {
  learn(await api.interaction(id));
  return ask(id);
}

/** Take in a newer view of an ask. */
export function learn(newer) {
  live.asks = merge(live.asks, newer);
  tell();
}

export async function refreshSessions() {
  try {
    live.sessions = (await api.sessions()).sessions;
    tell();
  } catch {
    // The stream says when the gateway is away; the list is read again soon.
  }
}

let soon;
function refreshSessionsSoon() {
  clearTimeout(soon);
  soon = setTimeout(refreshSessions, 300);
}

export function start(me) {
  live.me = me;
  refreshSessions();
  setInterval(() => document.hidden || refreshSessions(), SESSIONS_EVERY_MS);
  setInterval(tell, TICK_MS);
  const again = (id) => refresh(id).catch(() => {});
  follow(() => "/v1/interactions/events", {
    snapshot: ({ interactions }) => {
      const { asks, ended } = mergeSnapshot(live.asks, interactions);
      live.asks = asks;
      live.ready = true;
      ended.forEach(again);
      tell();
    },
    upsert: (upsert) => {
      if (isNews(live.asks, upsert)) again(upsert.interactionId);
      refreshSessionsSoon();
    },
  }, async (connected) => {
    live.connected = connected;
    tell();
    // Was it the network, or is the cookie no longer good?
    if (!connected) await api.me().catch((problem) => problem.status === 401 && location.reload());
  });
}
