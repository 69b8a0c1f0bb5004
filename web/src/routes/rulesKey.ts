/** What rules say is read again when one is added or revoked, wherever it is shown. */
export const RULES = ["rules"] as const;
