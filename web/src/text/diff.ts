// A unified diff, read into lines with their numbers.

export interface DiffLine {
  kind: "add" | "remove" | "same" | "hunk";
  text: string;
  before: number | null;
  after: number | null;
}

export function readDiff(text: string): DiffLine[] {
  const lines = text.replace(/\n$/, "").split("\n");
  const out: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  for (const line of lines) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      inHunk = true;
      out.push({ kind: "hunk", text: line, before: null, after: null });
    } else if (!inHunk) {
      out.push({ kind: "hunk", text: line, before: null, after: null });
    } else if (line.startsWith("+")) {
      out.push({ kind: "add", text: line.slice(1), before: null, after: after++ });
    } else if (line.startsWith("-")) {
      out.push({ kind: "remove", text: line.slice(1), before: before++, after: null });
    } else if (line.startsWith("\\")) {
      out.push({ kind: "hunk", text: line, before: null, after: null });
    } else {
      out.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
    }
  }
  // What has no hunks is not a diff that we know: its lines are judged by their first character alone.
  return inHunk ? out : lines.map(judge);
}

function judge(line: string): DiffLine {
  const isHead = line.startsWith("+++") || line.startsWith("---");
  const kind = isHead ? "hunk" : line.startsWith("+") ? "add" : line.startsWith("-") ? "remove" : "same";
  return { kind, text: kind === "hunk" ? line : line.slice(1), before: null, after: null };
}

/** What stands side by side: a line and what it becomes, or one that has no other side. */
export interface DiffPair {
  before: DiffLine | null;
  after: DiffLine | null;
}

/** A diff's lines side by side: of a change the first line that goes stands beside the first that comes. */
export function pairs(lines: DiffLine[]): DiffPair[] {
  const out: DiffPair[] = [];
  let gone: DiffLine[] = [];
  let come: DiffLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at++)
      out.push({ before: gone[at] ?? null, after: come[at] ?? null });
    gone = [];
    come = [];
  };
  for (const line of lines) {
    if (line.kind === "remove") {
      // Those that come end a change; what goes after them begins another.
      if (come.length > 0) flush();
      gone.push(line);
    } else if (line.kind === "add") {
      come.push(line);
    } else {
      flush();
      out.push({ before: line, after: line });
    }
  }
  flush();
  return out;
}

/** `+12 −3`. */
export function countDiff(text: string): string {
  const lines = readDiff(text);
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return `+${count("add")} −${count("remove")}`;
}

/** What an edit of text by text does: what both have in common at the beginning and the end is left out. */
export function replaceDiff(before: string, after: string): DiffLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  const line = (kind: DiffLine["kind"]) => (text: string) => ({ kind, text, before: null, after: null });
  return [
    ...old.slice(Math.max(0, head - 3), head).map(line("same")),
    ...old.slice(head, old.length - tail).map(line("remove")),
    ...fresh.slice(head, fresh.length - tail).map(line("add")),
    ...old.slice(old.length - tail, old.length - tail + 3).map(line("same")),
  ];
}
