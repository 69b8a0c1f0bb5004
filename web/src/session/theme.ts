// Light or dark. `public/theme.js` does the same before the first picture.

import { settings, subscribe } from "./settings";

/** Follows what the person chooses, in this tab and in others. */
export function wearTheme(): void {
  const wear = () => {
    const { theme } = settings();
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
  };
  wear();
  subscribe(wear);
}
