import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

export interface Sight {
  /** All of the input was shown. */
  all: boolean;
  /** Shows more of what was not: what is folded first, then the next page. */
  showNext: () => void;
}

/** Why Approve does not approve yet. */
export const NOT_SHOWN = "Part of it was not shown yet. Space and Approve show more.";

/** What stays in sight of the page before. */
const OVERLAP = 40;
/** Sizes have fractions, scroll positions may have none. */
const ROUNDING = 2;

/**
 * Nobody approves what was never shown. It was when nothing is folded (`data-fold`) and the card's box (`data-scrolls`) went from
 * the beginning to the end of the input (`data-input-end`) without a jump.
 * @param showing another one begins anew
 */
export function useSight(card: RefObject<HTMLElement | null>, showing: string, unfold: () => void): Sight {
  const shown = useRef({ showing, to: 0 });
  if (shown.current.showing !== showing) shown.current = { showing, to: 0 };
  const [all, setAll] = useState(false);
  const boxOf = useCallback(() => card.current?.querySelector<HTMLElement>("[data-scrolls]"), [card]);
  const look = useCallback(() => {
    const [box, end] = [boxOf(), card.current?.querySelector("[data-input-end]")];
    if (!box || !end) return setAll(false);
    const now = shown.current;
    if (box.scrollTop <= now.to) now.to = Math.max(now.to, box.scrollTop + box.clientHeight);
    const endsAt = end.getBoundingClientRect().bottom - box.getBoundingClientRect().top + box.scrollTop;
    setAll(isUnfolded(card.current) && endsAt <= now.to + ROUNDING);
  }, [card, boxOf]);
  useEffect(() => {
    const box = boxOf();
    if (!box) return;
    const sized = new ResizeObserver(look);
    for (const one of [box, ...box.children]) sized.observe(one);
    box.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      sized.disconnect();
      box.removeEventListener("scroll", look);
    };
  });
  const showNext = useCallback(() => {
    if (!isUnfolded(card.current)) return unfold();
    const box = boxOf();
    if (!box) return;
    const overlap = box.clientHeight > 2 * OVERLAP ? OVERLAP : 0;
    box.scrollTo({ top: Math.max(0, shown.current.to - overlap) });
  }, [card, boxOf, unfold]);
  return { all, showNext };
}

const isUnfolded = (card: HTMLElement | null): boolean => card?.querySelector("[data-fold]") === null;
