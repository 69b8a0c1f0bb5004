import { Switch } from "@base-ui/react/switch";
import { type ReactNode, useId } from "react";

interface Props {
  on: boolean;
  onChange: (on: boolean) => void;
  children: ReactNode;
  /** What that means, below. */
  hint?: string;
}

export function Toggle({ on, onChange, children, hint }: Props) {
  const id = useId();
  return (
    <div className="flex min-h-11 items-center justify-between gap-3 py-1.5">
      <div className="min-w-0 flex-1">
        <label htmlFor={id}>{children}</label>
        {hint && (
          <p id={`${id}-hint`} className="text-xs text-ink-3">
            {hint}
          </p>
        )}
      </div>
      <Switch.Root
        id={id}
        checked={on}
        onCheckedChange={onChange}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className="flex h-5 w-9 shrink-0 items-center rounded-full border border-ink-2 bg-surface px-0.5 data-checked:bg-ink"
      >
        <Switch.Thumb className="size-3.5 rounded-full bg-ink-2 data-checked:translate-x-4 data-checked:bg-surface" />
      </Switch.Root>
    </div>
  );
}
