/** One look for everything that is typed or chosen. 16 px on a phone: smaller text makes it zoom in. */
export const INPUT =
  "tag block w-full min-h-9 border border-ink-2 bg-surface px-2 py-1.5 text-ink max-wide:min-h-11 max-wide:text-base aria-invalid:border-denied-rail";
