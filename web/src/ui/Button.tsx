import type { ComponentProps } from "react";

const LOOK = {
  /** The thing to do. Solid ink, never green. */
  solid: "bg-ink text-on-ink border-ink not-disabled:not-aria-disabled:hover:opacity-85",
  outlined: "bg-surface border-line-2 not-disabled:not-aria-disabled:hover:bg-sunken",
  quiet: "border-transparent text-ink-2 not-disabled:not-aria-disabled:hover:bg-sunken not-disabled:hover:text-ink",
} as const;
const SIZE = {
  normal: "min-h-9 px-3.5 max-wide:min-h-11",
  small: "min-h-7 px-2 text-xs max-wide:min-h-11 max-wide:px-3",
} as const;

type Props = ComponentProps<"button"> & { look?: keyof typeof LOOK; size?: keyof typeof SIZE };

export function Button({ look = "outlined", size = "normal", className = "", type = "button", ...props }: Props) {
  return (
    <button
      type={type}
      className={`tag inline-flex shrink-0 items-center justify-center gap-2 border py-1 font-medium whitespace-nowrap disabled:cursor-default disabled:border-dashed disabled:border-line-2 disabled:bg-surface disabled:text-ink-3 aria-disabled:cursor-default aria-disabled:border-dashed aria-disabled:border-line-2 aria-disabled:bg-surface aria-disabled:text-ink-3 ${LOOK[look]} ${SIZE[size]} ${className}`}
      {...props}
    />
  );
}
