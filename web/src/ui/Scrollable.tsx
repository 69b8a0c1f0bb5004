import type { ComponentProps } from "react";

/** Something that scrolls by itself: it can be reached by keyboard and has a name. */
export function Scrollable({ label, ...props }: ComponentProps<"section"> & { label: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  return <section tabIndex={0} aria-label={label} {...props} />;
}
