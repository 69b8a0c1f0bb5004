import type { ReactNode } from "react";

/** What is known about an ask, a line each. */
export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-[128px_minmax(0,1fr)] gap-x-4 gap-y-1.5 empty:hidden max-wide:grid-cols-[minmax(0,1fr)] max-wide:gap-y-0">
      {children}
    </dl>
  );
}

export function Fact({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <>
      <dt className="text-xs leading-5 wrap-anywhere text-ink-3">{name}</dt>
      <dd className="max-w-[76ch] min-w-0 wrap-anywhere max-wide:pb-2">{children}</dd>
    </>
  );
}

/** A rule as it would stand in a file. */
export function RuleLine({ children }: { children: ReactNode }) {
  return (
    <code className="box-decoration-clone bg-block px-1.5 py-px font-mono text-mono wrap-anywhere whitespace-pre-line">
      {children}
    </code>
  );
}
