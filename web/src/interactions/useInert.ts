import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

/** A card takes no decision this long after it appears or changes, or after a key was pressed elsewhere. */
export const INERT_MS = 400;

export interface Inert {
  inert: boolean;
  /** Asked at the moment of a decision: what is drawn may be a frame behind. Asking too early begins the rest again. */
  isInert: () => boolean;
  /** Begin again: something has just appeared under the finger. */
  rest: () => void;
}

/** When what is being handled was pressed. */
let pressed = 0;
for (const kind of ["keydown", "click"])
  document.addEventListener(
    kind,
    (event) => {
      pressed = event.timeStamp;
    },
    true,
  );

/** A page that was busy hears of presses late: what counts is when the finger moved, and not when the page heard of it. */
function pressedAt(): number {
  const now = performance.now();
  return pressed > 0 && pressed < now ? pressed : now;
}

/** Nobody decides by accident: what appears under a finger that is moving, or in the middle of typing, does nothing. */
export function useInert(card: RefObject<HTMLElement | null>, showing: string): Inert {
  // Before the first effect ran, it rests as well.
  const until = useRef(Number.POSITIVE_INFINITY);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [inert, setInert] = useState(true);
  const rest = useCallback(() => {
    until.current = performance.now() + INERT_MS;
    setInert(true);
    clearTimeout(timer.current);
    // Never drawn as awake before it is: timers may be early by a moment.
    timer.current = setTimeout(() => setInert(false), INERT_MS + 20);
  }, []);
  const isInert = useCallback(() => {
    if (pressedAt() >= until.current) return false;
    // Whoever presses again and again is not reading.
    rest();
    return true;
  }, [rest]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each showing begins anew
  useEffect(() => {
    // A busy page paints late. The rest begins with the paint: begun now, it could end before the card is in sight, and
    // the paint would begin it again under a finger that is already pressing.
    until.current = Number.POSITIVE_INFINITY;
    setInert(true);
    clearTimeout(timer.current);
    const painted = requestAnimationFrame(() => requestAnimationFrame(rest));
    return () => {
      cancelAnimationFrame(painted);
      clearTimeout(timer.current);
    };
  }, [showing, rest]);
  useEffect(() => {
    const elsewhere = (event: KeyboardEvent) => {
      if (!(event.target instanceof Node && card.current?.contains(event.target))) rest();
    };
    document.addEventListener("keydown", elsewhere, true);
    return () => document.removeEventListener("keydown", elsewhere, true);
  }, [card, rest]);
  return { inert, isInert, rest };
}
