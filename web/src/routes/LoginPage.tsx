import { useEffect, useState } from "react";
import { gateway } from "../api/gateway";
import { reasonOf } from "../api/problem";
import { keepToken } from "../api/token";
import { Calm, Ticked } from "../ui/Calm";

export const NEEDS_LINK = "This page needs your link. Run `holdstead open` in a terminal.";
const NOT_KEPT =
  "This browser lets this page keep nothing, so it cannot stay logged in. Allow it to store data, then get a new link: `holdstead open`.";

// Read once, when the page is loaded: it must not stay in the address bar or the history.
const code = location.pathname === "/login" ? location.hash.slice(1) : "";
const session = new URLSearchParams(location.search).get("session") ?? "";
if (code) history.replaceState(null, "", "/login");
let attempt: Promise<void> | null = null;

async function login(): Promise<void> {
  const { token } = await gateway.login(code);
  if (!keepToken(token)) throw new Error(NOT_KEPT);
}

/** The link from the terminal becomes the token of this browser. */
export function LoginPage() {
  const [words, setWords] = useState(code ? "One moment…" : NEEDS_LINK);
  useEffect(() => {
    if (!code) return;
    attempt ??= login();
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
