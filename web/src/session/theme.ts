// Light or dark. `public/theme.js` does the same before the first picture.

import { settings, subscribe } from "./settings";

/** Follows what the person chooses, in this tab and in others. */
export function wearTheme(): void {
  const wear = () => {
    const { theme } = settings();
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  wear();
  subscribe(wear);
}
