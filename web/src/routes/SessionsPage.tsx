import { SessionList } from "./SessionList";

/** The sessions, where there is no room for them beside everything else. */
export function SessionsPage() {
  return (
    <main className="h-full overflow-y-auto px-10 pt-4 pb-6 max-wide:px-4">
      <h1 className="sr-only">Sessions</h1>
      <SessionList />
    </main>
  );
}
