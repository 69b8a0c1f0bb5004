// One session, live: reads its journal from the place reached, folds it, and tells a screen at most once a frame.

import { parseExact } from "../api/exact";
import type { Event, InteractionMode, Resume } from "../api/generated";
import type { Problem } from "../api/problem";
import { type Frame, follow } from "../api/stream";
import { emptyTranscript, fold, type Transcript } from "./transcript";

export interface SessionView {
  transcript: Transcript;
  connected: boolean;
  /** All that was there when it was opened has been read. */
  ready: boolean;
  /** Some of the beginning is no longer kept. */
  gap: boolean;
  problem: Problem | null;
}

/** While a long journal arrives it is shown this often. */
const PROGRESS_MS = 400;

export class SessionFeed {
  #id: string;
  #client: string;
  #mode: () => InteractionMode;
  #view: SessionView = { transcript: emptyTranscript(), connected: true, ready: false, gap: false, problem: null };
  #listeners = new Set<() => void>();
  #pending: Event[] = [];
  #head = 0;
  #flushing = false;
  #shownAt = 0;
  #stop: (() => void) | null = null;

  constructor(id: string, client: string, mode: () => InteractionMode) {
    this.#id = id;
    this.#client = client;
    this.#mode = mode;
  }

  view = (): SessionView => this.#view;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#watch();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#unwatch();
    };
  };

  /** A hidden tab lets its stream go, as browsers allow six to one host, and reads on when it is looked at again. */
  #onVisibility = () => {
    if (document.hidden) {
      this.#stop?.();
      this.#stop = null;
    } else if (!this.#stop) {
      this.#open();
    }
  };

  #watch() {
    document.addEventListener("visibilitychange", this.#onVisibility);
    if (!document.hidden) this.#open();
  }

  #unwatch() {
    document.removeEventListener("visibilitychange", this.#onVisibility);
    this.#stop?.();
    this.#stop = null;
  }

  #open() {
    this.#shownAt = performance.now();
    this.#stop = follow({
      path: () => {
        const after = this.#pending.at(-1)?.seq ?? this.#view.transcript.seq;
        const query = new URLSearchParams({ after: String(after), client: this.#client, interaction: this.#mode() });
        return `/v1/sessions/${encodeURIComponent(this.#id)}/events?${query}`;
      },
      onFrames: (frames) => this.#take(frames),
      onConnected: (connected) => this.#tell({ connected }),
      onRefused: (problem) => this.#tell({ problem, ready: true }),
    });
  }

  #take(frames: Frame[]) {
    for (const frame of frames) {
      if (frame.event === "resume") this.#resume(parseExact(frame.data) as Resume);
      else if (frame.event !== "unreadable") this.#pending.push(parseExact(frame.data) as Event);
    }
    const reached = this.#pending.at(-1)?.seq ?? this.#view.transcript.seq;
    // The beginning is folded in one go: to show each step of it would only be slower.
    const isLoading = reached < this.#head && performance.now() - this.#shownAt < PROGRESS_MS;
    if (isLoading || this.#flushing) return;
    this.#flushing = true;
    if (this.#view.ready) requestAnimationFrame(this.#flush);
    else this.#flush();
  }

  #resume({ resume, head }: Resume) {
    this.#head = head;
    if (resume !== "gap") return;
    this.#pending = [];
    this.#view = { ...this.#view, transcript: emptyTranscript(head), gap: true };
  }

  #flush = () => {
    this.#flushing = false;
    this.#shownAt = performance.now();
    const events = this.#pending;
    this.#pending = [];
    const transcript = fold(this.#view.transcript, events);
    this.#tell({ transcript, ready: this.#view.ready || transcript.seq >= this.#head, problem: null });
  };

  #tell(change: Partial<SessionView>) {
    this.#view = { ...this.#view, ...change };
    for (const listener of this.#listeners) listener();
  }
}
