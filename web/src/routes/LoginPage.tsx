import { useEffect, useState } from "react";
import { gateway } from "../api/gateway";
import { reasonOf } from "../api/problem";
import { keepToken, token } from "../api/token";
import { Calm, Ticked } from "../ui/Calm";

export const NEEDS_LINK =
  "This page needs your link. Run `holdstead open` in a terminal on the gateway's machine, or `holdstead pair` for a phone.";
const NOT_KEPT =
  "This browser lets this page keep nothing, so it cannot stay logged in. Allow it to store data, then get a new link: `holdstead open`, or `holdstead pair` for a phone.";

// Read once, when the page is loaded: it must not stay in the address bar or the history.
const code = location.pathname === "/login" ? location.hash.slice(1) : "";
const session = new URLSearchParams(location.search).get("session") ?? "";
if (code) history.replaceState(null, "", "/login");
let attempt: Promise<void> | null = null;

async function login(): Promise<void> {
  // The link was used here before, and the address bar has kept the rest of it.
  if (!code) return;
  const { token } = await gateway.login(code);
  if (!keepToken(token)) throw new Error(NOT_KEPT);
}

/** The link from the terminal becomes the token of this browser. */
export function LoginPage() {
  const goesOn = code !== "" || token() !== null;
  const [words, setWords] = useState(goesOn ? "One moment…" : NEEDS_LINK);
  useEffect(() => {
    if (!goesOn) return;
    attempt ??= login();
    attempt.then(
      () => location.replace(/^ses_\w+$/.test(session) ? `/sessions/${session}` : "/"),
      (error) => setWords(reasonOf(error)),
    );
  }, [goesOn]);
  return (
    <Calm>
      <Ticked text={words} />
    </Calm>
  );
}
