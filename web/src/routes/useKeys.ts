import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { isTyping } from "./Keys";

/** Keys that work anywhere but in a box or on a card. */
export function useKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const onCard = event.target instanceof HTMLElement && event.target.closest("[data-card]") !== null;
      if (isTyping(event.target) || onCard || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
        return;
      if (event.key === "i") void navigate({ to: "/" });
      else if (event.key === "c")
        document.querySelector<HTMLElement>("textarea[aria-label='Message to the agent']")?.focus();
      else if (event.key === "j" || event.key === "k") moveRow(event.key === "j" ? 1 : -1);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [navigate]);
}

function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-ask]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
}
