// Telling a person who looks elsewhere. A notification says that something waits, and where; it decides nothing.

import type { Interaction } from "../api/generated";
import { headline } from "../interactions/words";
import { change, settings } from "../session/settings";

/** What the title and the icon say, over all sessions. */
export function announce(count: number): void {
  document.title = count > 0 ? `(${count}) Holdstead` : "Holdstead";
  const icon = count > 0 ? "/icon-waiting.svg" : "/icon.svg";
  const link = document.getElementById("icon");
  if (link && link.getAttribute("href") !== icon) link.setAttribute("href", icon);
}

/** Asks the browser, once the person wants it. */
export async function askToNotify(): Promise<void> {
  if (!("Notification" in window)) return change({ notify: "off" });
  const answer = await Notification.requestPermission();
  change({ notify: answer === "granted" ? "on" : "off" });
}

export const canNotify = (): boolean => "Notification" in window && Notification.permission !== "denied";

/** One notification per ask: its name replaces an older one, and two tabs show one. */
export function notify(ask: Interaction, go: (ask: Interaction) => void): void {
  if (settings().notify !== "on" || !("Notification" in window) || Notification.permission !== "granted") return;
  if (document.visibilityState === "visible" && document.hasFocus()) return;
  const note = new Notification("Holdstead: an agent waits for you", {
    body: headline(ask.request, "row").slice(0, 140),
    tag: ask.request.interactionId,
    icon: "/icon-waiting.svg",
  });
  note.onclick = () => {
    window.focus();
    note.close();
    go(ask);
  };
}
