import type { AskState, Delivery, InTerminal, InteractionRequest, InteractionResponse } from "../api/generated";

/** An ask as a screen shows it. An `Interaction` of the API is one, and so is what a session's events tell. */
export type Ask = AskState & {
  request: InteractionRequest;
  /** The event that changed it last: of two views the higher is the newer. */
  seq: number;
  openedAt: string;
  parked: boolean;
  delivery?: Delivery | null;
  /** Its call ran, and not with the input that was approved. */
  ranOtherThanApproved?: boolean;
  /** The input that ran instead, where the journal was read and has it. */
  ran?: unknown;
  /** Settled as `failed`: why, in the tool's words. */
  failure?: string | null;
  /** Who stopped its turn or ended its session, where that closed it. */
  closedBy?: string | null;
  /** It was answered in the agent's own terminal, where that closed it. */
  inTerminal?: InTerminal | null;
  response?: InteractionResponse | null;
  respondedAt?: string | null;
};

/** May a person still answer? */
export const isOpen = (ask: Ask): boolean => ask.state === "open" || ask.state === "queued";

export const isOver = (ask: Ask): boolean => ask.state === "settled" || ask.state === "closed";
