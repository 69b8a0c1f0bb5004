// The open asks as the stream tells them. No DOM here. Of two views of one ask the higher `seq` is the newer.

/** @typedef {{seq: number, state: string, openedAt: string, request: {interactionId: string}}} Ask */

const id = (ask) => ask.request.interactionId;

/** May a person still answer? */
export const isOpen = (ask) => ask.state === "open" || ask.state === "queued";

/** @param {Map<string, Ask>} asks */
export function merge(asks, ask) {
  const known = asks.get(id(ask));
  const newer = known && known.seq > ask.seq ? known : ask;
  // The time of an answer is known from its receipt only.
  const respondedAt = ask.respondedAt ?? known?.respondedAt;
  return new Map(asks).set(id(ask), respondedAt ? { ...newer, respondedAt } : newer);
}

/**
 * A snapshot holds every open ask: one that is missing has ended meanwhile, and its end is to be fetched.
 * @returns {{asks: Map<string, Ask>, ended: string[]}}
 */
export function mergeSnapshot(asks, listed) {
  const present = new Set(listed.map(id));
  const ended = [...asks.values()].filter((ask) => isOpen(ask) && !present.has(id(ask))).map(id);
  return { asks: listed.reduce(merge, asks), ended };
}

/** Does this change tell of something newer than what is known? */
export const isNews = (asks, upsert) => (asks.get(upsert.interactionId)?.seq ?? -1) < upsert.seq;

/** Those that wait, oldest first. */
export function openAsks(asks) {
  return [...asks.values()]
    .filter(isOpen)
    .sort((a, b) => Date.parse(a.openedAt) - Date.parse(b.openedAt) || (id(a) < id(b) ? -1 : 1));
}
