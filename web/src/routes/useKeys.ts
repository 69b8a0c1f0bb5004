import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { isTyping } from "./Keys";

/** Told to the desk: select the next row, or the one before. */
export const MOVE = "holdstead:move";

/** Keys that work anywhere but in a box. A card has its own way to move. */
export function useKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const onCard = event.target instanceof HTMLElement && event.target.closest("[data-card]") !== null;
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.repeat) return;
      // Who is there already keeps what is selected.
      if (event.key === "i" && location.pathname !== "/") void navigate({ to: "/" });
      else if (event.key === "c")
        document.querySelector<HTMLElement>("textarea[aria-label='Message to the agent']")?.focus();
      else if (!onCard && (event.key === "j" || event.key === "k"))
        document.dispatchEvent(new CustomEvent(MOVE, { detail: event.key === "j" ? 1 : -1 }));
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [navigate]);
}
