// Every open ask of this person, over all sessions, live. Of two views of one ask the higher `seq` is the newer.

import { parseExact } from "../api/exact";
import type { InboxUpsert, Interaction, InteractionMode, InteractionPage } from "../api/generated";
import type { Problem } from "../api/problem";
import { type Frame, follow } from "../api/stream";
import { isOpen } from "./ask";

export interface Inbox {
  asks: ReadonlyMap<string, Interaction>;
  connected: boolean;
  /** Nothing is said about an empty inbox before the first snapshot. */
  ready: boolean;
}

const idOf = (ask: Interaction) => ask.request.interactionId;

export function merge(asks: ReadonlyMap<string, Interaction>, ask: Interaction): ReadonlyMap<string, Interaction> {
  const known = asks.get(idOf(ask));
  if (known && known.seq > ask.seq) return asks;
  return new Map(asks).set(idOf(ask), known ? whole(known, ask) : ask);
}

/** A list shows a part of a large ask. What was fetched whole stays whole for as long as it is the same showing. */
function whole(known: Interaction, ask: Interaction): Interaction {
  if (!ask.cut || known.cut || known.request.promptId !== ask.request.promptId) return ask;
  return { ...ask, request: known.request, response: ask.response ?? known.response, cut: undefined };
}

/** All pages of a snapshot hold every open ask: one that is missing has ended meanwhile, and its end is to be fetched. */
export function mergeSnapshot(asks: ReadonlyMap<string, Interaction>, listed: Interaction[]) {
  const present = new Set(listed.map(idOf));
  const ended = [...asks.values()].filter((ask) => isOpen(ask) && !present.has(idOf(ask))).map(idOf);
  return { asks: listed.reduce(merge, asks), ended };
}

/** Those that wait, oldest first. */
export function waitingAsks(inbox: Inbox, sessionId?: string): Interaction[] {
  return [...inbox.asks.values()]
    .filter((ask) => isOpen(ask) && (!sessionId || ask.sessionId === sessionId))
    .sort((a, b) => Date.parse(a.openedAt) - Date.parse(b.openedAt) || (idOf(a) < idOf(b) ? -1 : 1));
}

export interface InboxSource {
  interaction: (id: string) => Promise<Interaction>;
  /** The open asks behind this place. */
  page: (after: string) => Promise<InteractionPage>;
  client: string;
  mode: () => InteractionMode;
  onRefused: (problem: Problem) => void;
  /** An ask that was not there before. */
  onNew: (ask: Interaction) => void;
  /** Something changed somewhere. */
  onChange: () => void;
}

export class InboxFeed {
  #source: InboxSource;
  #inbox: Inbox = { asks: new Map(), connected: true, ready: false };
  #listeners = new Set<() => void>();
  /** Asks that are being read again; true: read once more after that. */
  #reading = new Map<string, boolean>();

  constructor(source: InboxSource) {
    this.#source = source;
  }

  view = (): Inbox => this.#inbox;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Follows the stream until the returned function is called. */
  start(): () => void {
    return follow({
      path: () => {
        const query = new URLSearchParams({ client: this.#source.client, interaction: this.#source.mode() });
        return `/v1/interactions/events?${query}`;
      },
      onFrames: (frames) => {
        for (const frame of frames) void this.take(frame);
      },
      onConnected: (connected) => this.#tell({ connected }),
      onRefused: this.#source.onRefused,
    });
  }

  /** Takes in a newer view of an ask. */
  learn = (ask: Interaction): void => {
    this.#tell({ asks: merge(this.#inbox.asks, ask) });
  };

  /** Reads an ask again; a burst of changes is one more reading. */
  refresh = async (id: string): Promise<void> => {
    if (this.#reading.has(id)) {
      this.#reading.set(id, true);
      return;
    }
    this.#reading.set(id, false);
    try {
      const known = this.#inbox.asks.has(id);
      const ask = await this.#source.interaction(id);
      this.learn(ask);
      if (!known && isOpen(ask) && this.#inbox.ready) this.#source.onNew(ask);
    } finally {
      const again = this.#reading.get(id);
      this.#reading.delete(id);
      if (again) void this.refresh(id).catch(() => {});
    }
  };

  /** Takes in one frame of the stream. */
  async take(frame: Pick<Frame, "event" | "data">): Promise<void> {
    if (frame.event === "snapshot") {
      await this.#snapshot(parseExact(frame.data) as InteractionPage);
    } else if (frame.event === "upsert") {
      const upsert = parseExact(frame.data) as InboxUpsert;
      const known = this.#inbox.asks.get(upsert.interactionId);
      const matters = known ? known.seq < upsert.seq : upsert.state === "open" || upsert.state === "queued";
      if (matters) void this.refresh(upsert.interactionId).catch(() => {});
      this.#source.onChange();
    }
  }

  /** What it holds is shown at once; what is missing has ended only when the last page says so, too. */
  async #snapshot({ interactions, next }: InteractionPage) {
    const before = this.#inbox;
    const listed = [...interactions];
    this.#tell({ asks: interactions.reduce(merge, before.asks), ready: true });
    try {
      for (let after = next; after; ) {
        const page = await this.#source.page(after);
        listed.push(...page.interactions);
        this.#tell({ asks: page.interactions.reduce(merge, this.#inbox.asks) });
        after = page.next;
      }
      const { ended } = mergeSnapshot(before.asks, listed);
      for (const id of ended) void this.refresh(id).catch(() => {});
    } catch {
      // The rest comes with the next snapshot: the stream begins anew when the connection does.
    }
    if (before.ready) listed.filter((ask) => !before.asks.has(idOf(ask))).forEach(this.#source.onNew);
    this.#source.onChange();
  }

  #tell(change: Partial<Inbox>) {
    this.#inbox = { ...this.#inbox, ...change };
    for (const listener of this.#listeners) listener();
  }
}
