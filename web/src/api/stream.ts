// Server-sent events over fetch: whole chunks at a time, the place reached is ours to say, and a dead line is noticed.

import { Problem } from "./problem";
import { signedFetch } from "./signed";

export interface Frame {
  event: string;
  data: string;
}

export interface Follower {
  /** Asked again at each opening, so that it can carry the place reached. */
  path: () => string;
  onFrames: (frames: Frame[]) => void;
  onConnected: (connected: boolean) => void;
  /** The gateway will not have us: nothing is tried again. */
  onRefused?: (problem: Problem) => void;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4_000;
/** The gateway shows every 15 s that it lives. */
const SILENCE_MS = 40_000;

/** Cuts text into frames; keeps what is not complete yet. */
export class FrameReader {
  #rest = "";

  take(text: string): Frame[] {
    const all = this.#rest + text;
    const frames: Frame[] = [];
    let from = 0;
    for (let end = all.indexOf("\n\n", from); end >= 0; end = all.indexOf("\n\n", from)) {
      const frame = readFrame(all.slice(from, end));
      if (frame) frames.push(frame);
      from = end + 2;
    }
    this.#rest = all.slice(from);
    return frames;
  }
}

function readFrame(block: string): Frame | null {
  let event = "message";
  let data: string | null = null;
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const value = line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (line.startsWith("event:")) event = value;
    else if (line.startsWith("data:")) data = data === null ? value : `${data}\n${value}`;
  }
  return data === null ? null : { event, data };
}

/** Follows a stream until the returned function is called. */
export function follow({ path, onFrames, onConnected, onRefused }: Follower): () => void {
  const stopped = new AbortController();
  let wake: () => void = () => {};
  const online = () => wake();
  addEventListener("online", online);

  const once = async (): Promise<"again" | "refused"> => {
    const line = new AbortController();
    const cut = () => line.abort();
    stopped.signal.addEventListener("abort", cut);
    let watchdog = setTimeout(cut, SILENCE_MS);
    try {
      const answer = await signedFetch(path(), {
        headers: { Accept: "text/event-stream" },
        cache: "no-store",
        signal: line.signal,
      });
      if (!answer.ok || !answer.body) {
        const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
        const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
        if (isFinal && problem.code !== "nonce_refused") {
          onRefused?.(problem);
          return "refused";
        }
        return "again";
      }
      onConnected(true);
      const frames = new FrameReader();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "again";
        pause = FIRST_PAUSE_MS;
        clearTimeout(watchdog);
        watchdog = setTimeout(cut, SILENCE_MS);
        const read = frames.take(value);
        if (read.length > 0 && !stopped.signal.aborted) onFrames(read);
      }
    } catch {
      return "again";
    } finally {
      clearTimeout(watchdog);
      stopped.signal.removeEventListener("abort", cut);
    }
  };

  let pause = FIRST_PAUSE_MS;
  const run = async () => {
    while (!stopped.signal.aborted) {
      if ((await once()) === "refused") return;
      if (stopped.signal.aborted) return;
      onConnected(false);
      await new Promise<void>((done) => {
        wake = done;
        setTimeout(done, pause);
      });
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  };
  void run();
  return () => {
    removeEventListener("online", online);
    stopped.abort();
    wake();
  };
}
