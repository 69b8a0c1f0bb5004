import { useEffect, useState } from "react";
import { gateway } from "../api/gateway";
import { become, type Identity, identity, nextKey } from "../api/identity";
import { canSign } from "../api/key";
import { Problem, reasonOf } from "../api/problem";
import { Calm, Ticked } from "../ui/Calm";
import { onlyOurs } from "../worker";

export const NEEDS_LINK =
  "This page needs your link. Run `holdstead open` in a terminal on the gateway's machine, or `holdstead pair` for a phone.";
const NOT_KEPT =
  "This browser lets this page keep nothing, so it cannot stay logged in. Allow it to store data, then get a new link: `holdstead open`, or `holdstead pair` for a phone.";

// Read once, when the page is loaded.
const code = location.pathname === "/login" ? location.hash.slice(1) : "";
const session = new URLSearchParams(location.search).get("session") ?? "";
let attempt: Promise<void> | null = null;

async function login(): Promise<void> {
  // The link was used here before, and the address bar has kept the rest of it.
  if (!code) {
    if ((await identity()) === null) throw new Error(NEEDS_LINK);
    return;
  }
  // The page may be loaded again by this, and then needs the code again.
  await onlyOurs();
  // It must not stay in the address bar or the history.
  history.replaceState(null, "", "/login");
  // Before the link is used up.
  const key = canSign() ? await nextKey() : null;
  if (canSign() && key === null) throw new Error(NOT_KEPT);
  try {
    const { token } = await gateway.login(code, key);
    const next: Identity | null = key ? { kind: "key", key } : token ? { kind: "bearer", secret: token } : null;
    if (next === null || !(await become(next))) throw new Error(NOT_KEPT);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "link_used" || !(await isLoggedIn())) throw error;
  }
}

/** The browser that a link logged in opens the same link again. */
const isLoggedIn = (): Promise<boolean> =>
  gateway.me().then(
    () => true,
    () => false,
  );

/** The link from the terminal makes this browser one of the person's devices. */
export function LoginPage() {
  const [words, setWords] = useState("One moment…");
  useEffect(() => {
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
