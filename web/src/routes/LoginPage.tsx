import { useEffect, useState } from "react";
import { gateway } from "../api/gateway";
import { reasonOf } from "../api/problem";
import { Calm, Ticked } from "../ui/Calm";

export const NEEDS_LINK = "This page needs your link. Run `holdstead open` in a terminal.";

// Read once, when the page is loaded: it must not stay in the address bar or the history.
const code = location.pathname === "/login" ? location.hash.slice(1) : "";
const session = new URLSearchParams(location.search).get("session") ?? "";
if (code) history.replaceState(null, "", "/login");
let attempt: Promise<void> | null = null;

/** The link from the terminal becomes a cookie. */
export function LoginPage() {
  const [words, setWords] = useState(code ? "One moment…" : NEEDS_LINK);
  useEffect(() => {
    if (!code) return;
    attempt ??= gateway.login(code);
    attempt.then(
      () => location.replace(/^ses_\w+$/.test(session) ? `/sessions/${session}` : "/"),
      (error) => setWords(reasonOf(error)),
    );
  }, []);
  return (
    <Calm>
      <Ticked text={words} />
    </Calm>
  );
}
