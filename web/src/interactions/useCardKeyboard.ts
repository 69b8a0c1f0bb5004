// The keys of a card, and the guards around them: nothing is decided by a key that was meant for something else.

import type { KeyboardEvent, RefObject } from "react";
import type { CardKeys } from "./card";
import type { Inert } from "./useInert";

interface Board {
  root: RefObject<HTMLElement | null>;
  inert: Inert;
  /** What the card's kind does with keys. */
  keys: RefObject<CardKeys>;
  /** Something is open in place of the actions: whoever opened it is about to type. */
  panel: boolean;
  /** Letters that decide nothing, and work whatever the state of the ask. */
  moves: Record<string, (() => void) | undefined>;
  answerable: boolean;
  onEscape: () => void;
}

const TYPED = "textarea, select, input:not([type=radio]):not([type=checkbox])";
const MODIFIERS = ["Control", "Meta", "Shift", "Alt", "AltGraph"];

export function useCardKeyboard({ root, inert, keys, panel, moves, answerable, onEscape }: Board) {
  /** Takes the focus from the button that Enter would press. */
  const disarm = () => {
    root.current?.focus({ preventScroll: true });
    inert.rest();
  };

  /** Does what a key means; false: it means nothing here, and the browser may have it. */
  const press = (event: KeyboardEvent<HTMLElement>, target: HTMLElement): boolean => {
    const isTyping = target.matches(TYPED);
    const chord = event.ctrlKey || event.metaKey;
    const letter = event.key.toLowerCase();
    if (event.key === "Enter" && chord) {
      if (answerable && !inert.isInert()) keys.current.send?.();
      return true;
    }
    if (event.key === "Escape") {
      onEscape();
      return true;
    }
    if (isTyping || chord || event.altKey) return false;
    // Alone they decide nothing: Enter presses only the button that has the focus, Space none that decides.
    if (event.key === "Enter") return target === root.current;
    if (event.key === " ") {
      if (target !== root.current && !target.hasAttribute("data-decide")) return false;
      keys.current.letters?.[" "]?.();
      return true;
    }
    const move = moves[letter];
    if (move && (!panel || letter === "[" || letter === "]")) {
      move();
      // Also where nothing moved: whoever types `ja` and Enter means no button.
      inert.rest();
      return true;
    }
    if (panel || event.key.length !== 1) return false;
    if (answerable && /^[1-9]$/.test(event.key) && keys.current.digit) {
      keys.current.digit(Number(event.key));
      return true;
    }
    if (answerable && keys.current.letters?.[letter]) {
      keys.current.letters[letter]();
      return true;
    }
    // Others have it: the list of keys, and what finds things.
    if (event.key === "?" || event.key === "/") return false;
    // A letter that means nothing: somebody types, and means another window.
    disarm();
    return true;
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (!(event.target instanceof HTMLElement) || event.nativeEvent.isComposing || MODIFIERS.includes(event.key))
      return;
    const { target } = event;
    const types = target.matches(TYPED) && !(event.key === "Enter" && (event.ctrlKey || event.metaKey));
    // A key that is held decides nothing, and moves nothing but what scrolls.
    const isHeld = event.repeat && !types && (event.key === "Enter" || event.key.length === 1);
    if (isHeld) inert.rest();
    if (!isHeld && !press(event, target)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  /** Some browsers press a button when Space is let go, whatever was said when it went down. */
  const onKeyUp = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === " " && event.target instanceof HTMLElement && event.target.hasAttribute("data-decide"))
      event.preventDefault();
  };
  return { onKeyDown, onKeyUp };
}
