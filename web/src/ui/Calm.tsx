import type { ReactNode } from "react";
import { Shown } from "../text/Shown";

/** A page that says one thing. */
export function Calm({ children }: { children: ReactNode }) {
  return (
    <main className="mx-auto max-w-[520px] px-6 pt-24 text-base">
      <h1 className="mb-3 flex items-center gap-2 text-lg font-semibold">
        <img src="/icon.svg" alt="" className="size-6" />
        Holdstead
      </h1>
      <div className="text-ink-2">{children}</div>
    </main>
  );
}

/** Words with `code` in backticks, as the gateway writes them. */
export function Ticked({ text }: { text: string }) {
  return text.split("`").map((part, at) =>
    at % 2 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence never move
      <code key={at} className="bg-sunken px-1 font-mono text-[0.9em] text-ink">
        <Shown text={part} />
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <Shown key={at} text={part} />
    ),
  );
}
