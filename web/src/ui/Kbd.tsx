/** A key. */
export function Kbd({ children }: { children: string }) {
  return (
    <kbd className="inline-block min-w-[18px] rounded-[3px] border border-line-2 px-1 text-center font-mono text-xs">
      {children}
    </kbd>
  );
}

/** The key of a button, inside it. Its name is the button's words alone; on a phone there are no keys. */
export function Key({ children }: { children: string }) {
  return (
    <span
      aria-hidden="true"
      className="inline-block min-w-[18px] rounded-[3px] border border-current px-1 text-center font-mono text-xs max-wide:hidden"
    >
      {children}
    </span>
  );
}
