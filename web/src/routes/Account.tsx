import { useLive } from "../session/live";
import { Shown } from "../text/Shown";

/** Who is here, and how this screen behaves. */
export function Account() {
  const { me } = useLive();
  return (
    <footer className="border-t border-line py-3 text-xs text-ink-2">
      <Shown text={me.name} />
    </footer>
  );
}
