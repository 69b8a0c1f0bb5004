import { NewSession } from "./NewSession";
import { Palette } from "./Palette";
import { show, useSheet } from "./sheet";

/** What can lie over every page. */
export function Sheets() {
  const sheet = useSheet();
  return (
    <>
      <Palette />
      <NewSession open={sheet === "new session"} onClose={() => show(null)} />
    </>
  );
}
