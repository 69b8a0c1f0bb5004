// Start, and which screen: `/` the inbox, `/#int_…` one ask, `/sessions/ses_…` a session with its ask docked.

import { api } from "./api.js";
import { isOpen } from "./asks.js";
import { openCard } from "./card.js";
import { el, put, ticked } from "./dom.js";
import { openInbox } from "./inbox.js";
import * as live from "./live.js";
import { openSession } from "./session.js";

const app = document.getElementById("app");

/** A page that says one thing. */
function calm(text) {
  app.className = "app";
  put(app, el("main", { class: "calm" }, el("p", { class: "calm-name" }, "Holdstead"), el("p", {}, ...ticked(text))));
}

const NEEDS_LINK = "This page needs your link. Run `holdstead open` in a terminal.";

async function login() {
  const code = location.hash.slice(1);
  const session = new URLSearchParams(location.search).get("session") ?? "";
  // The code leaves the address bar at once: it must not stay in the history.
  history.replaceState(null, "", "/login");
  if (!code) return calm(NEEDS_LINK);
  try {
    await api.login(code);
    location.replace(/^ses_\w+$/.test(session) ? `/sessions/${session}` : "/");
  } catch (problem) {
    calm(problem.message);
  }
}

async function start() {
  if (location.pathname === "/login") return login();
  try {
    live.start(await api.me());
  } catch (problem) {
    if (problem.status === 401) return calm(NEEDS_LINK);
    calm(`${problem.message} Trying again…`);
    return setTimeout(start, 2000);
  }
  run();
}

function run() {
  const inbox = openInbox(go);
  const stage = el("div", { class: "stage" });
  put(app, inbox.node, stage);
  /** @type {{id: string, node: HTMLElement, update: () => void, dispose: () => void} | null} */
  let screen = null;
  let card = null;
  const dock = el("div", { class: "dock" });

  function place() {
    const [, sessionId] = location.pathname.match(/^\/sessions\/([^/]+)/) ?? [];
    const askId = location.hash.startsWith("#int_") ? location.hash.slice(1) : null;
    return { sessionId, askId };
  }

  /** Which ask is on the screen: the one named, or in a session the oldest. */
  function wanted() {
    const { sessionId, askId } = place();
    if (askId || !sessionId) return askId;
    if (card?.isBusy && live.ask(card.id)?.sessionId === sessionId) return card.id;
    return live.waitingAsks(sessionId)[0]?.request.interactionId ?? null;
  }

  function show() {
    const { sessionId, askId } = place();
    app.className = `app at-${sessionId ? "session" : askId ? "ask" : "list"}`;
    inbox.update(askId ?? sessionId);
    if ((screen?.id ?? null) !== (sessionId ?? null)) {
      screen?.dispose();
      screen = sessionId ? { id: sessionId, ...openSession(sessionId, { dock, onLeave: () => go("/") }) } : null;
    }
    screen?.update();
    showCard(sessionId);
    const home = screen ? screen.node : card ? card.main : null;
    if (stage.firstChild !== home) put(stage, home);
    announce();
  }

  function showCard(sessionId) {
    const id = wanted();
    const ask = id && live.ask(id);
    if (card && card.id !== id) {
      card.dispose();
      card.node.remove();
      card = null;
    }
    if (id && !ask) {
      // A link to an ask that ended, or one from before the first snapshot.
      live.refresh(id).catch((problem) => {
        if (problem.status === 404) go(sessionId ? `/sessions/${sessionId}` : "/");
      });
      return;
    }
    if (!ask) return;
    if (card) return card.update(ask);
    const others = () => live.waitingAsks(sessionId).map((one) => one.request.interactionId);
    card = openCard(ask, {
      place: () => ({ at: others().indexOf(id) + 1, of: others().length }),
      onLeave: () => leave(sessionId, id),
      onMove: (by) => {
        const ids = others().filter((one) => one !== id || isOpen(live.ask(id)));
        const at = ids.indexOf(id);
        const next = ids[at < 0 ? 0 : (at + by + ids.length) % ids.length];
        if (next && next !== id) goToAsk(sessionId, next);
        else leave(sessionId, id);
      },
    });
    card.main = el("main", { class: "ask" }, !sessionId && card.node);
    if (sessionId) put(dock, card.node);
    // What a person opened gets the focus, on the card and never on a button. What came by itself gets none.
    if (opened === id) requestAnimationFrame(() => card?.id === id && card.node.focus({ preventScroll: true }));
    opened = null;
  }

  let opened = place().askId;
  function goToAsk(sessionId, id) {
    go(`${sessionId ? `/sessions/${sessionId}` : "/"}#${id}`);
  }
  function leave(sessionId, id) {
    card?.dismiss();
    if (sessionId) {
      if (location.hash) go(`/sessions/${sessionId}`);
      else show();
      screen?.node.querySelector(".composer textarea")?.focus();
    } else {
      go("/");
      inbox.node.querySelector(`[data-id="${CSS.escape(id)}"] a`)?.focus();
    }
  }

  function go(path) {
    history.pushState(null, "", path);
    opened = place().askId;
    show();
  }

  function announce() {
    const count = live.waitingAsks().length;
    document.title = count ? `(${count}) Holdstead` : "Holdstead";
    const icon = `/assets/${count ? "icon-waiting" : "icon"}.svg`;
    const link = document.getElementById("icon");
    if (link.getAttribute("href") !== icon) link.setAttribute("href", icon);
  }

  addEventListener("popstate", () => { opened = place().askId; show(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.origin !== location.origin) return;
    event.preventDefault();
    go(link.pathname + link.hash);
  });
  live.onChange(show);
  show();
}

start();
