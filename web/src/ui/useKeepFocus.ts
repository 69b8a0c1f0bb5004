import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";

/** When what had the focus inside goes away, the focus does not fall to the page: keys go on working. */
export function useKeepFocus(box: RefObject<HTMLElement | null>, takeIt: () => void): void {
  const isInside = useRef(false);
  useEffect(() => {
    const look = (event: FocusEvent) => {
      isInside.current = event.target instanceof Node && box.current?.contains(event.target) === true;
    };
    document.addEventListener("focusin", look);
    return () => document.removeEventListener("focusin", look);
  }, [box]);
  useLayoutEffect(() => {
    if (isInside.current && (document.activeElement === null || document.activeElement === document.body)) takeIt();
  });
}
