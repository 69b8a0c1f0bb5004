// The keys of a card, and the guards around them: nothing is decided by a key that was meant for something else.

import type { KeyboardEvent, RefObject } from "react";
import type { CardPlace } from "./AskCard";
import type { CardKeys } from "./card";
import type { Inert } from "./useInert";

interface Board {
  root: RefObject<HTMLElement | null>;
  inert: Inert;
  /** What the card's kind does with keys. */
  keys: RefObject<CardKeys>;
  place: CardPlace;
  /** What is open in place of the actions: whoever opened it is about to type. */
  panel: string | null;
  setPanel: (panel: string | null) => void;
  answerable: boolean;
  /** Puts off what is asked, where that can be. */
  notNow?: () => void;
}

const TYPED = "textarea, select, input:not([type=radio]):not([type=checkbox])";
/** The inbox, and the box for a message. */
const PLACES = ["i", "c"];
const MODIFIERS = ["Control", "Meta", "Shift", "Alt", "AltGraph"];

export function useCardKeyboard({ root, inert, keys, place, panel, setPanel, answerable, notNow }: Board) {
  const next = () => place.onMove(1);
  const previous = () => place.onMove(-1);
  /** Letters that decide nothing, and work whatever the state of the ask. */
  const moves: Record<string, (() => void) | undefined> = {
    j: next,
    k: previous,
    "]": next,
    "[": previous,
    n: notNow,
    o: place.onSession,
    w: place.onWide,
  };

  /** Goes back by one step, and never decides. */
  const goBack = () => {
    if (panel !== null) setPanel(null);
    else if (document.activeElement !== root.current) root.current?.focus({ preventScroll: true });
    else place.onLeave();
  };

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
      goBack();
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
    if (move && (panel === null || letter === "[" || letter === "]")) {
      move();
      // Also where nothing moved: whoever types `ja` and Enter means no button.
      inert.rest();
      return true;
    }
    if (panel !== null || event.key.length !== 1) return false;
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
    // A letter that means nothing here: somebody types, and means another window, or a place that the page knows.
    disarm();
    return !PLACES.includes(letter);
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
