import { useEffect, useState } from "react";

/** What is typed, once the typing rests: not every letter is a request. */
export function useSettled<T>(value: T, restMs = 150): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), restMs);
    return () => clearTimeout(timer);
  }, [value, restMs]);
  return settled;
}
