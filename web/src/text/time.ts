// Times as people say them. No clock here: `now` is given.

/** How old, short: `now`, `4m`, `2h`, `3d`. */
export function age(since: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(since)) / 60_000);
  if (!(minutes >= 1)) return "now";
  if (minutes < 60) return `${minutes}m`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1440)}d`;
}

/** The same in a sentence: `just now`, `6m ago`. */
export function ago(since: string, now: number): string {
  const passed = age(since, now);
  return passed === "now" ? "just now" : `${passed} ago`;
}

/** How long, in words: `40 s`, `6 min`, `2 h`, `3 days`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

// One for all: making one takes far longer than using it, and a transcript uses it on every row.
const TIME_OF_DAY = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The time of day: `14:02`. */
export const clock = (at: string): string => {
  const time = Date.parse(at);
  return Number.isNaN(time) ? "" : TIME_OF_DAY.format(time);
};

/** A folder as people write it. */
export const folder = (path: string): string => path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, "~");

/** How long something ran: `0.4 s`, `8.4 s`, `40 s`, `6 min`. */
export const took = (ms: number): string => (ms < 9_950 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : span(ms));
