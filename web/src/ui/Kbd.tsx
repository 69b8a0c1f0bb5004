/** A key. */
export function Kbd({ children }: { children: string }) {
  return (
    <kbd className="inline-block min-w-5 rounded-[3px] border border-line bg-sunken px-1 text-center font-mono text-xs text-ink-2">
      {children}
    </kbd>
  );
}
