import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

export interface Sight {
  /** Everything that must be seen before an approval was in sight. */
  all: boolean;
  /** Scrolls to the first that was not. */
  showNext: () => void;
}

/**
 * Nobody approves what was never in sight: the end of the input, and every marked part of it. They are the elements with
 * `data-must-see`, a name that is theirs alone.
 */
export function useSight(card: RefObject<HTMLElement | null>, showing: string): Sight {
  const seen = useRef({ showing, names: new Set<string>() });
  if (seen.current.showing !== showing) seen.current = { showing, names: new Set() };
  const [all, setAll] = useState(false);
  const unseen = useCallback(
    () =>
      [...(card.current?.querySelectorAll<HTMLElement>("[data-must-see]") ?? [])].filter(
        (one) => !seen.current.names.has(one.dataset.mustSee ?? ""),
      ),
    [card],
  );
  useEffect(() => {
    const left = unseen();
    setAll(left.length === 0);
    if (left.length === 0) return;
    const watcher = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting && target instanceof HTMLElement) seen.current.names.add(target.dataset.mustSee ?? "");
      setAll(unseen().length === 0);
    });
    for (const one of left) watcher.observe(one);
    return () => watcher.disconnect();
  });
  const showNext = useCallback(() => unseen()[0]?.scrollIntoView({ block: "center" }), [unseen]);
  return { all, showNext };
}
