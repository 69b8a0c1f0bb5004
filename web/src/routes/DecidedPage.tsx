/** What was decided, by whom and when. */
export function DecidedPage() {
  return (
    <main className="h-full overflow-y-auto bg-surface px-10 pb-6 max-wide:px-4">
      <h1 className="pt-4 pb-3 text-lg font-semibold">Decided</h1>
    </main>
  );
}
