// How cards reach the gateway. They get it from a provider, so that a test or the gallery can give them another.

import { createContext, use } from "react";
import type {
  Interaction,
  InteractionMode,
  Interrupted,
  ManyReceipts,
  MessageAccepted,
  Receipt,
  Respond,
  RespondMany,
  Session,
} from "../api/generated";

export interface AnswerTransport {
  respond: (id: string, body: Respond) => Promise<Receipt>;
  /** Several at once, each with its own prompt, key and receipt. */
  respondMany: (body: RespondMany) => Promise<ManyReceipts>;
  interaction: (id: string) => Promise<Interaction>;
  interrupt: (sessionId: string) => Promise<Interrupted>;
  say: (sessionId: string, text: string) => Promise<MessageAccepted>;
  /** Trusts what a folder's repository runs, with its rules as they are now. */
  trustFolder: (folder: string) => Promise<void>;
}

export interface AnswerDesk {
  transport: AnswerTransport;
  me: string;
  /** This person's token may answer. */
  mayAnswer: boolean;
  /** Off: this client only looks. */
  mode: InteractionMode;
  setMode: (mode: InteractionMode) => void;
  /** One question with one choice is sent when it is chosen. */
  sendOnPick: boolean;
  session: (id: string) => Session | null;
  /** Takes in a newer view of an ask. */
  learn: (ask: Interaction) => void;
  /** An answer of this person's was accepted. */
  onAnswered?: () => void;
}

const Context = createContext<AnswerDesk | null>(null);
export const AnswerProvider = Context.Provider;

export function useDesk(): AnswerDesk {
  const desk = use(Context);
  if (!desk) throw new Error("There is no AnswerProvider above this.");
  return desk;
}
