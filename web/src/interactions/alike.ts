// Which asks are the same command with another argument. They are shown together, each in full.

import type { Interaction } from "../api/generated";
import { lineOf } from "./words";

/** Fewer are as quickly answered one by one. */
const FEWEST = 3;
/** More would not be looked at. */
const MOST = 20;

/** One command and its arguments: no operator, quote, expansion or second line, which a word by word look would miss. */
const PLAIN = /^[\w@%+=:,./~-]+(?: [\w@%+=:,./~-]+)+$/;

const wordsOf = (ask: Interaction): string[] => lineOf(ask.request)?.split(" ") ?? [];

/** Everything about an ask but its command and what the agent says of it: asks that differ in it are not alike. */
function setting(ask: Interaction): string | null {
  const { request } = ask;
  if (request.kind !== "approval" || ask.state !== "open" || ask.cut) return null;
  if ((request.marks?.length ?? 0) > 0 || request.mayHaveRun || request.error || request.attempt > 1) return null;
  if (request.preview || request.isPlan || request.hasHandler) return null;
  if (!PLAIN.test(lineOf(request) ?? "")) return null;
  const { command: _, description: __, ...rest } = request.input as Record<string, unknown>;
  const { toolName, parents, cwd, origin, capabilities } = request;
  return JSON.stringify([ask.sessionId, ask.parked, toolName, parents, cwd, origin, capabilities, rest]);
}

/** Two words in the same place that are values of the same thing, and not two flags or two subcommands. */
function isArgument(at: number, one: string, other: string): boolean {
  const [flag, otherFlag] = [one, other].map((word) => (word.startsWith("-") ? (word.split("=")[0] ?? "") : ""));
  if (flag !== otherFlag) return false;
  // `-x` and `-x=1` have one name and are two things.
  if (flag !== "" && (one === flag || other === flag)) return false;
  // The program and what it is told to do: `apply`, `destroy`. A path or a number is neither.
  return at >= 2 || (at === 1 && [one, other].every((word) => /[./:=\d]/.test(word)));
}

/** Where two commands differ, if that is one argument. */
function difference(one: string[], other: string[]): number | null {
  if (one.length !== other.length) return null;
  const differ = one.flatMap((word, at) => (word === other[at] ? [] : [at]));
  const [at] = differ;
  if (differ.length !== 1 || at === undefined) return null;
  return isArgument(at, one[at] ?? "", other[at] ?? "") ? at : null;
}

/** The word in which alike asks differ. */
export function differsAt(asks: Interaction[]): number | null {
  const [first, second] = asks;
  return first && second ? difference(wordsOf(first), wordsOf(second)) : null;
}

/** A command, cut before and after the part of its word that differs: `-target=` is common, what follows is not. */
export function cutAt(command: string, at: number): [string, string, string] {
  const words = command.split(" ");
  const word = words[at] ?? "";
  const name = word.startsWith("-") ? word.indexOf("=") + 1 : 0;
  const before = words.slice(0, at).concat(word.slice(0, name)).join(" ");
  const after = words.slice(at + 1);
  return [
    before + (name === 0 && at > 0 && !before.endsWith(" ") ? " " : ""),
    word.slice(name),
    after.length > 0 ? ` ${after.join(" ")}` : "",
  ];
}

/** Asks in their order; those that are alike stand together where the first of them stood. */
export function together(asks: Interaction[]): Interaction[][] {
  const rows: { setting: string | null; asks: Interaction[] }[] = [];
  for (const ask of asks) {
    const own = setting(ask);
    const row = own === null ? undefined : rows.find((one) => one.setting === own && fits(one.asks, ask));
    if (row) row.asks.push(ask);
    else rows.push({ setting: own, asks: [ask] });
  }
  // Too few: each stands where it stood.
  const lone = new Set(rows.filter((row) => row.asks.length < FEWEST).flatMap((row) => row.asks));
  const rowOf = new Map(rows.flatMap((row) => row.asks.map((ask) => [ask, row.asks] as const)));
  return asks.flatMap((ask) => {
    const row = rowOf.get(ask) ?? [ask];
    if (lone.has(ask)) return [[ask]];
    return row[0] === ask ? [row] : [];
  });
}

function fits(row: Interaction[], ask: Interaction): boolean {
  const [first] = row;
  if (!first || row.length >= MOST) return false;
  const at = difference(wordsOf(first), wordsOf(ask));
  if (at === null) return false;
  return row.length === 1 || at === differsAt(row);
}
