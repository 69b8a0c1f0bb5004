// For how long an ask can be put off. No clock here: `now` is given.

export interface Later {
  words: string;
  until: Date;
}

const HOUR = 3_600_000;

/** What is offered: an hour, this evening while it is not near, tomorrow morning. */
export function laters(now: Date): Later[] {
  const at = (hour: number, days: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour, 0, 0, 0);
  const evening = at(18, 0);
  return [
    { words: "For an hour", until: new Date(now.getTime() + HOUR) },
    ...(evening.getTime() - now.getTime() > HOUR ? [{ words: "Until this evening, 18:00", until: evening }] : []),
    { words: "Until tomorrow, 08:00", until: at(8, 1) },
  ];
}

/** Put off at this moment, by whichever screen. */
export const isPutOff = (ask: { snoozedUntil?: string | null }, now: number): boolean =>
  ask.snoozedUntil != null && Date.parse(ask.snoozedUntil) > now;
