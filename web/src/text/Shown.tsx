import { Fragment } from "react";
import { pieces, type Where } from "./visible";

/** Text with what cannot be seen shown and marked. Data becomes text, never markup. */
export function Shown({ text, where = "prose" }: { text: string; where?: Where }) {
  const parts = pieces(text, where);
  if (parts.length === 1 && !parts[0]?.marked) return parts[0]?.text;
  let at = 0;
  return parts.map((piece) => {
    const key = at;
    at += piece.text.length;
    return piece.marked ? (
      <mark
        key={key}
        className="rounded-[3px] border border-denied-rail bg-denied-bg px-0.5 font-mono text-[0.92em] text-denied"
      >
        {piece.text}
      </mark>
    ) : (
      <Fragment key={key}>{piece.text}</Fragment>
    );
  });
}
