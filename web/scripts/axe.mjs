// What axe-core objects to on the page as it is.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** @param without rules that do not hold for this page
 * @returns {Promise<string[]>} one line for each element that breaks a rule */
export async function violations(page, without = []) {
  // Through the debugger, not the page: its policy allows no foreign script.
  if (!(await page.evaluate("typeof axe !== 'undefined'"))) await page.evaluate(source);
  const found = await page.evaluate((off) => {
    const rules = Object.fromEntries(off.map((rule) => [rule, { enabled: false }]));
    return globalThis.axe.run(document, { resultTypes: ["violations"], rules }).then((result) => result.violations);
  }, without);
  return found.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")} (${node.failureSummary?.split("\n")[1]?.trim()})`),
  );
}
