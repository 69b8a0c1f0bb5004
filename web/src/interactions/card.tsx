// What the parts of one card share.

import { createContext, use, useEffect, useRef, useState } from "react";
import type { Interaction } from "../api/generated";
import { keepDraft, readDraft } from "../session/drafts";
import { type Answering, draftName } from "./useAnswer";
import type { Inert } from "./useInert";
import type { Sight } from "./useSight";

export interface CardKeys {
  /** By the lower-case letter, or a space. */
  letters?: Record<string, () => void>;
  digit?: (number: number) => void;
  /** Ctrl or ⌘ with Enter. */
  send?: () => void;
}

export interface Card {
  ask: Interaction;
  answering: Answering;
  inert: Inert;
  sight: Sight;
  /** A person may answer it, here and now. */
  answerable: boolean;
  /** Its time ran out, but its session lives: an answer goes as a message. */
  late: boolean;
  /** What is open in place of the actions. */
  panel: string | null;
  setPanel: (panel: string | null) => void;
  /** Nothing of a long input is folded. */
  whole: boolean;
  setWhole: (whole: boolean) => void;
  setKeys: (keys: CardKeys) => void;
}

const Context = createContext<Card | null>(null);
export const CardProvider = Context.Provider;

export function useCard(): Card {
  const card = use(Context);
  if (!card) throw new Error("There is no card around this.");
  return card;
}

/** Says what keys do while the card has the focus. */
export function useCardKeys(keys: CardKeys): void {
  const { setKeys } = useCard();
  useEffect(() => setKeys(keys));
}

/**
 * What is being typed for this showing; kept until it is sent.
 * @param stored what may lie on disk: secrets may not
 */
export function useDraft<T extends object>(
  promptId: string,
  start: () => T,
  stored: (value: T) => unknown = (value) => value,
) {
  const name = draftName(promptId);
  const [value, setValue] = useState<T>(() => ({ ...start(), ...readDraft<Partial<T>>(name) }));
  const latest = useRef(value);
  const change = (part: Partial<T>) => {
    latest.current = { ...latest.current, ...part };
    setValue(latest.current);
    keepDraft(name, latest.current, stored(latest.current));
  };
  return [value, change] as const;
}
