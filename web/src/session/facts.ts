// What a session comes to, beside its transcript. Pure.

import { fileOf } from "../interactions/words";
import type { Ask } from "./ask";
import { isRefused, linesChanged, ranWith } from "./call";
import type { Item, ToolItem, Transcript } from "./transcript";

export interface ChangedFile {
  path: string;
  added: number;
  removed: number;
}

export interface Facts {
  /** Newest first. */
  asks: Ask[];
  /** In the order of their first change. */
  files: ChangedFile[];
  /** How long its asks have waited for people, together. */
  waitedMs: number;
}

/** A call is read once, however often the session grows. */
const edits = new WeakMap<ToolItem, ChangedFile | null>();

function editOf(tool: ToolItem): ChangedFile | null {
  const known = edits.get(tool);
  if (known !== undefined) return known;
  const value = ranWith(tool)?.value;
  const path = fileOf(value);
  const didRun = tool.result !== undefined && !tool.result.isError && !isRefused(tool);
  const lines = didRun && path !== null ? linesChanged(tool, value) : null;
  const edit = lines && path !== null ? { path, ...lines } : null;
  edits.set(tool, edit);
  return edit;
}

const askOf = (item: Item): Ask | undefined => ("ask" in item ? item.ask : undefined);

export function factsOf({ items, asks }: Transcript): Facts {
  const files = new Map<string, ChangedFile>();
  for (const item of items) {
    const edit = item.kind === "tool" ? editOf(item) : null;
    if (!edit) continue;
    const before = files.get(edit.path) ?? { path: edit.path, added: 0, removed: 0 };
    files.set(edit.path, { ...before, added: before.added + edit.added, removed: before.removed + edit.removed });
  }
  const found = [...new Set(asks.values())].flatMap((at) => {
    const item = items[at];
    const ask = item && askOf(item);
    return ask ? [ask] : [];
  });
  const waitedMs = found.reduce(
    (sum, { openedAt, respondedAt }) => sum + (respondedAt ? Date.parse(respondedAt) - Date.parse(openedAt) : 0),
    0,
  );
  return { asks: found.reverse(), files: [...files.values()], waitedMs };
}
