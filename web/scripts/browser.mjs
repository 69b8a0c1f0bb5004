// The browser that scripts and shows drive.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PLACES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where it lies. */
export const place = () => PLACES.find((place) => place && existsSync(place));

/**
 * @param more further flags
 * @param executablePath another program, which starts it
 */
export function launch(more = [], executablePath = place()) {
  if (!executablePath)
    throw new Error("There is no chromium. Install it (Debian: apt-get install chromium) or set CHROMIUM.");
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    ...more,
  ];
  return chromium.launch({ executablePath, args });
}

export const LOOKS = [
  { name: "light", viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { name: "dark", viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  { name: "light phone", viewport: { width: 390, height: 844 }, colorScheme: "light", hasTouch: true, isMobile: true },
  { name: "dark phone", viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, isMobile: true },
];
