// RFC 4180, read by the book: quotes may hold commas, line ends and doubled quotes.

/** @returns {Record<string, string>[]} each line by the names of the first */
export function readCsv(text) {
  const lines = [[""]];
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    const line = lines.at(-1);
    if (isQuoted) {
      if (char !== '"') line[line.length - 1] += char;
      else if (text[at + 1] === '"') line[line.length - 1] += text[++at];
      else isQuoted = false;
    } else if (char === '"') isQuoted = true;
    else if (char === ",") line.push("");
    else if (char === "\n") lines.push([""]);
    else if (char !== "\r") line[line.length - 1] += char;
  }
  if (isQuoted) throw new Error("A quote is not closed.");
  const [names, ...rows] = lines.filter((line) => line.length > 1 || line[0] !== "");
  for (const row of rows)
    if (row.length !== names.length) throw new Error(`A line has ${row.length} fields, not ${names.length}.`);
  return rows.map((row) => Object.fromEntries(row.map((field, at) => [names[at], field])));
}
