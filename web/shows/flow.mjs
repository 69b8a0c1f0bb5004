// How many strokes ten decisions take, on a desk and on a phone, and that none of them happens by accident. Strokes are
// counted here, where they are pressed; a chord is one.
// Usage: node shows/flow.mjs [TRIES]; every accident is tried so often, an even number of times.

import { card, check, heading, linesInSight, reads, received, run, until } from "./harness.mjs";

const TRIES = Number(process.argv[2] ?? 20);
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const approve = (command) => `approve Bash ${JSON.stringify({ command })} says It is needed`;
const QUESTION = "ask Store!: Where do the orders go? | SQLite: one file | PostgreSQL: for a team";
const together = (steps) => ["together", ...steps.map((step) => `  ${step}`), "end"].join("\n");

// Ten asks of three sessions, as a morning brings them.
const MIXED = [
  ["npm test -- --run orders", "git push --force origin main", "cargo fmt --check"].map(approve),
  [...["make import", "psql -h router -f check.sql", "rm -rf /srv/orders-old"].map(approve), QUESTION],
  ["cargo build -p auth", "npm run build", "docker compose up -d"].map(approve),
];
const PLAIN = [
  ["npm test", "cargo fmt --check", "make lint", "go vet ./..."].map(approve),
  ["cargo build -p auth", "npm run build", "pytest tests/auth"].map(approve),
  ["docker compose up -d", "make import", "psql -f check.sql"].map(approve),
];

/** A gateway's sessions that ask all of this at once, and nothing else waits. */
async function morning(gateway, asks) {
  await clear(gateway);
  const sessions = [];
  for (const [at, steps] of asks.entries()) {
    const session = await gateway.session(`task ${at + 1}`);
    await gateway.say(session, together(steps));
    await until("its asks", async () => (await open(gateway, session)).length === steps.length, 30_000);
    sessions.push(session);
  }
  return sessions;
}

const open = async (gateway, session) =>
  (await gateway.call("GET", `/v1/interactions?limit=200${session ? `&session=${session}` : ""}`)).interactions;

async function clear(gateway) {
  for (const session of new Set((await open(gateway)).map((ask) => ask.sessionId)))
    await gateway.call("DELETE", `/v1/sessions/${session}`);
  await until("an empty inbox", async () => (await open(gateway)).length === 0);
}

/** Somebody else is faster. */
async function deny(gateway, id) {
  const { request } = await gateway.call("GET", `/v1/interactions/${id}`);
  const idempotencyKey = crypto.randomUUID();
  await gateway.call("POST", `/v1/interactions/${id}/respond`, {
    promptId: request.promptId,
    idempotencyKey,
    action: "deny",
  });
}

/** How many approvals the journals of these sessions have. */
async function approvals(gateway, sessions) {
  let count = 0;
  for (const session of sessions) {
    const events = await gateway.events(session);
    count += events.filter((one) => one.type === "interaction_response" && one.data.action === "approve").length;
  }
  return count;
}

/** The card that takes decisions, which is not this one. */
async function next(page, not = null) {
  const other = not === null ? "" : `:not([data-card="${not}"])`;
  const found = page.locator(`[data-card]:not([data-inert])${other}`);
  await found.waitFor();
  return found.getAttribute("data-card");
}

/** Goes through what waits with as few keys as there are. Skips so many. */
async function decide(gateway, page, skip = 0) {
  let strokes = 0;
  const press = async (key) => {
    strokes += 1;
    await page.keyboard.press(key);
  };
  const asks = new Map((await open(gateway)).map((ask) => [ask.request.interactionId, ask.request]));
  let id = null;
  for (let done = 0; done < asks.size; done++) {
    id = await next(page, id);
    const request = asks.get(id);
    if (done < skip) {
      await press("j");
      continue;
    }
    if (request.kind === "question") await press("1");
    if (request.marks?.length > 0) {
      await press("a");
      await press("Enter");
    } else {
      await press("Control+Enter");
    }
    await until("its end", async () => !(await open(gateway)).some((ask) => ask.request.interactionId === id));
  }
  return strokes;
}

async function onADesk({ gateway, open: enter }) {
  heading("on a desk:");
  const page = await enter();
  let sessions = await morning(gateway, MIXED);
  await page.goto(`${gateway.url}/`);
  const mixed = await decide(gateway, page);
  check(`ten asks, two marked, one a question: ${mixed} strokes`, mixed <= 14);
  const got = await until("all receipts", async () => {
    const all = (await Promise.all(sessions.map((session) => received(gateway, session)))).flat();
    return all.length === 10 ? all : null;
  });
  check(
    "each agent received its answers",
    got.every((one) => ["approved", "answered"].includes(one?.settlement)),
  );

  sessions = await morning(gateway, PLAIN);
  await page.goto(`${gateway.url}/`);
  const plain = await decide(gateway, page);
  check(`ten plain asks: ${plain} strokes`, plain <= 10);
  check("and ten approvals", (await approvals(gateway, sessions)) === 10);

  await morning(gateway, MIXED);
  await page.goto(`${gateway.url}/`);
  const skipped = await decide(gateway, page, 2);
  check(`with two skipped: ${skipped} strokes`, skipped <= mixed + 2);
  check("and the two still wait", (await open(gateway)).length === 2);
  await page.context().close();
  return { mixed, plain, skipped };
}

async function onAPhone({ gateway, open: enter }) {
  heading("on a phone:");
  const page = await enter(PHONE);
  // A person's own choice, on the page about them.
  await page.goto(`${gateway.url}/you`);
  await page.getByRole("switch", { name: "Send an answer as soon as it is chosen" }).tap();
  await morning(gateway, MIXED);
  const asks = new Map((await open(gateway)).map((ask) => [ask.request.interactionId, ask.request]));
  let taps = 0;
  const tap = async (target) => {
    taps += 1;
    await target.tap();
  };
  const button = (name) => page.getByRole("button", { name, exact: true });
  // As a notification leads there.
  const [first] = [...asks.keys()];
  await page.goto(`${gateway.url}/#${first}`);
  let id = null;
  let low = 0;
  for (let done = 0; done < asks.size; done++) {
    id = await next(page, id);
    const request = asks.get(id);
    if (request.kind === "question") {
      await tap(page.getByRole("radio", { name: "SQLite" }));
    } else if (request.marks?.length > 0) {
      const at = await button("Approve…").boundingBox();
      await tap(button("Approve…"));
      const back = await button("Back").boundingBox();
      const under = at.y + at.height / 2;
      check("Back lies where the finger was", back.y < under && under < back.y + back.height);
      await card(page);
      await tap(button("Approve all the same"));
    } else {
      const box = await button("Approve once").boundingBox();
      low = Math.max(low, PHONE.viewport.height - box.y - box.height);
      await tap(button("Approve once"));
    }
    await until("its end", async () => !(await open(gateway)).some((ask) => ask.request.interactionId === id));
  }
  check(`ten asks: ${taps} taps, two where marked`, taps <= 12);
  check(`the answers lie at the thumb: ${Math.round(low)} px above the edge`, low < 60);
  await page.context().close();
  return taps;
}

async function alike({ gateway, open: enter }) {
  heading("alike asks:");
  const page = await enter();
  const apply = (name) => approve(`terraform plan -lock=false -target=module.${name}`);
  const names = [
    "eu_central_1",
    "eu_north_1",
    "eu_west_1",
    "us_east_1",
    "us_west_2",
    "ap_south_1",
    "ap_east_1",
    "sa_east_1",
  ];
  const [session] = await morning(gateway, [[...names.map(apply), approve("terraform destroy -target=module.old")]]);
  await page.goto(`${gateway.url}/`);
  const many = page.locator("[data-card][data-many='8']:not([data-inert])");
  await many.waitFor();
  const text = await many.textContent();
  check(
    "every item is there in full",
    names.every((name) => text.includes(`-target=module.${name}`)),
  );
  check("what is marked is not among them", !text.includes("destroy"));
  await page.keyboard.press("Control+Enter");
  await page.waitForTimeout(300);
  check("one chord approves none of them", (await approvals(gateway, [session])) === 0);
  await card(page);
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  await page.locator("[data-receipts='8']").waitFor();
  const receipts = await page.locator("[data-receipt]").count();
  check("eight receipts are shown", receipts === 8, receipts);
  const given = (await gateway.events(session)).filter((one) => one.type === "interaction_response");
  const keys = new Set(given.map((one) => one.data.promptId));
  check("and the journal has eight answers, each to its own prompt", given.length === 8 && keys.size === 8);
  check("the marked one still waits", (await open(gateway)).length === 1);

  await morning(gateway, [names.slice(0, 3).map(apply)]);
  await page.goto(`${gateway.url}/`);
  await page.locator("[data-card][data-many='3']:not([data-inert])").waitFor();
  await page.keyboard.press("s");
  await page.locator("[data-card]:not([data-many]):not([data-inert])").waitFor();
  check("S goes through them one by one", (await page.locator("[data-ask]").count()) === 3);
  const one = await decide(gateway, page);
  check("each with its own answer", one === 3);
  await page.context().close();
  return receipts;
}

/** The last line of a long command, and what is marked in it, before anybody scrolls. */
async function tail({ gateway, open: enter }) {
  heading("a command of 400 lines:");
  const lines = Array.from({ length: 400 }, (_, at) => `psql -h shard${at + 1} -f orders.sql`);
  lines[199] = "rm -rf /srv/orders-old";
  lines[399] = "echo the-very-end";
  await morning(gateway, [[approve(lines.join("\n"))]]);
  const looks = [{ viewport: { width: 1440, height: 900 } }, { viewport: { width: 1024, height: 640 } }, PHONE];
  for (const look of looks) {
    const page = await enter(look);
    const [{ request }] = await open(gateway);
    await page.goto(`${gateway.url}/?ask=${request.interactionId}`);
    await card(page);
    const inSight = (words) =>
      page.evaluate((words) => {
        const lines = [...document.querySelectorAll("[data-card] code")].filter((one) => one.textContent === words);
        return lines.some((line) => {
          const box = line.getBoundingClientRect();
          const top = document.elementFromPoint(box.x + 8, box.y + box.height / 2);
          return top !== null && (line === top || line.contains(top));
        });
      }, words);
    const where = `${look.viewport.width} × ${look.viewport.height}`;
    check(`${where}: its end is in sight`, await inSight("echo the-very-end"));
    check(`${where}: what is marked is in sight`, await inSight("rm -rf /srv/orders-old"));
    await page.context().close();
  }
  // A low window: each chord shows some more of it, and the one after the end approves.
  const few = lines.slice(0, 60).map((line, at) => `: ${at} ${line}`);
  const [session] = await morning(gateway, [[approve(few.join("\n"))]]);
  const page = await enter({ viewport: { width: 1000, height: 420 } });
  await page.goto(`${gateway.url}/`);
  const shown = new Set();
  let chords = 0;
  while ((await approvals(gateway, [session])) === 0 && chords < 60) {
    await next(page);
    for (const line of await linesInSight(page)) shown.add(line);
    await page.keyboard.press("Control+Enter");
    await page.waitForTimeout(300);
    chords += 1;
  }
  const missed = few.filter((line) => !shown.has(line));
  check(
    `the chord approved when all of it had been shown, after ${chords}`,
    missed.length === 0 && chords < 60,
    missed,
  );
  await page.context().close();
  await clear(gateway);
}

/** How long a card rests before it takes decisions. */
const REST_MS = 400;

/**
 * In the page: which card each press met, how long it had been there, how long no press had met it, and the button that was
 * hit.
 */
function watchPresses() {
  const shown = () => document.querySelector("[data-card]")?.dataset.card;
  let card = shown();
  let cameAt = 0;
  let lastAt = 0;
  new MutationObserver(() => {
    if (shown() === card) return;
    card = shown();
    cameAt = performance.now();
  }).observe(document.body, { subtree: true, childList: true, attributeFilter: ["data-card"] });
  globalThis.presses = [];
  // What a press brings about comes after this, and changes nothing of it.
  for (const kind of ["click", "keydown"])
    document.addEventListener(
      kind,
      (event) => {
        const on = event.target.closest("button")?.textContent;
        const idle = event.timeStamp - Math.max(cameAt, lastAt);
        lastAt = event.timeStamp;
        globalThis.presses.push({ card, age: event.timeStamp - cameAt, idle, on });
      },
      true,
    );
}

const presses = (page) => page.evaluate(() => globalThis.presses.splice(0));

/** Nothing is approved that nobody meant to approve. */
async function accidents({ gateway, open: enter }) {
  heading(`accidents, each ${TRIES} times:`);
  const page = await enter();
  const type = (words, delay) => page.keyboard.type(words, { delay });
  const pace = (at) => [0, 20, 60, 120, 180][at % 5];
  const tried = async (what, attempt) => {
    const sessions = await morning(gateway, PLAIN);
    for (let at = 0; at < TRIES; at++) {
      if (new URL(page.url()).pathname !== "/" || at === 0) await page.goto(`${gateway.url}/`);
      await page.keyboard.press("Escape");
      await next(page);
      await attempt(at);
    }
    await page.waitForTimeout(300);
    const count = await approvals(gateway, sessions);
    check(`${what}: nothing approved`, count === 0 && (await open(gateway)).length === 10, count);
  };

  await tried("bare Enter, Space and Esc", async (at) => page.keyboard.press(["Enter", " ", "Escape"][at % 3]));
  const words = ["ja", "yes", "ok", "y", "go on", "passt", "ja ja", "klar", "sure", "fine"];
  await tried("typed words and Enter", async (at) => {
    await type(words[at % words.length], pace(at));
    await page.keyboard.press("Enter");
    await page.waitForTimeout(30);
  });
  await tried("a key held since before", async (at) => {
    const chord = at % 2 === 1;
    await page.keyboard.press(at % 4 < 2 ? "j" : "k");
    if (chord) await page.keyboard.down("Control");
    for (let repeat = 0; repeat < 20; repeat++) {
      await page.keyboard.down("Enter");
      await page.waitForTimeout(30);
    }
    await page.keyboard.up("Enter");
    if (chord) await page.keyboard.up("Control");
  });

  // On a busy machine a press may come when a new card has been in sight for longer than it rests: whoever presses then has
  // seen it. That is no try, and is done again with other asks; what each try approved is counted by itself.
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const many = letters.slice(0, 2).flatMap((one) => letters.map((two) => approve(`make step-${one}${two}`)));
  const onNew = async (path, attempt, waited = (press) => press.age) => {
    const [session] = await morning(gateway, [many]);
    await page.goto(gateway.url + path(session));
    await card(page);
    await page.evaluate(watchPresses);
    let approved = 0;
    let met = 0;
    for (let tries = 0; tries < TRIES; ) {
      const id = await until("the next card", async () => {
        const shown = await next(page);
        return (await open(gateway)).some((ask) => ask.request.interactionId === shown) && shown;
      });
      const before = await approvals(gateway, [session]);
      const count = async () => (await approvals(gateway, [session])) - before;
      const box = await page.getByRole("button", { name: "Approve once" }).boundingBox();
      await presses(page);
      await attempt({ id, tries, at: [box.x + 20, box.y + 10], count });
      await page.waitForTimeout(300);
      const made = await presses(page);
      if (made.length === 0) throw new Error("the page heard of no press");
      const onOther = made.filter((press) => press.card !== id);
      if (onOther.some((press) => waited(press) >= REST_MS)) continue;
      tries += 1;
      approved += await count();
      if (onOther.some((press) => press.on?.startsWith("Approve"))) met += 1;
    }
    return { approved, met };
  };

  // Each press makes the card rest again.
  const ahead = await onNew(
    () => "/",
    async ({ tries }) => {
      await page.keyboard.press(tries % 2 === 0 ? "j" : "k");
      for (let press = 0; press < 4; press++) {
        await page.keyboard.press("a");
        await page.keyboard.press("Enter");
        await page.keyboard.press("Control+Enter");
        await page.waitForTimeout(pace(tries));
      }
    },
    (press) => press.idle,
  );
  check("keys typed ahead: nothing approved", ahead.approved === 0, ahead);

  // One click approves one; what comes under the second click rests.
  const twice = await onNew(
    () => "/",
    async ({ tries, at, count }) => {
      await page.mouse.click(...at, { clickCount: 2, delay: pace(tries) / 4 });
      if (tries % 2 === 1) await page.mouse.click(...at);
      await until("the first click", async () => (await count()) > 0);
    },
  );
  check("a double click: one approved, never two", twice.approved === TRIES, twice);

  // In its session the next ask takes the place of one that somebody else answered.
  const under = await onNew(
    (session) => `/sessions/${session}`,
    async ({ id, tries, at }) => {
      await page.mouse.move(...at);
      await deny(gateway, id);
      await page.locator(`[data-card]:not([data-card="${id}"])`).waitFor();
      if (tries % 2 === 0) await page.mouse.click(...at);
      else await page.keyboard.press("Enter");
    },
  );
  check("a card that changes under the finger: nothing approved", under.approved === 0, under);
  check(`${under.met} clicks of these were on its button`, under.met >= TRIES / 2);

  // The finger is on the button of a group, and one more joins it. Two groups: the end of a larger one is out of sight.
  // Only an agent's calls form groups, and the scripted agent cannot add one: the page reads a program's asks as an agent's.
  let grown = 0;
  await clear(gateway);
  await reads(page, (value) => {
    if (value.origin === "caller") value.origin = "agent";
  });
  for (const group of ["module", "data"]) {
    for (const { request } of await open(gateway)) await deny(gateway, request.interactionId);
    const join = (at) =>
      gateway.call("POST", "/v1/interactions", {
        key: `join ${group} ${at}`,
        kind: "approval",
        toolName: "Bash",
        input: { command: `terraform plan -target=${group}.m${at}` },
      });
    const program = (await join(0)).sessionId;
    await join(1);
    await join(2);
    await page.goto(`${gateway.url}/`);
    for (let many = 3; many < 3 + TRIES / 2; many++) {
      await page.locator(`[data-card][data-many='${many}']:not([data-inert])`).waitFor();
      await page.keyboard.press("a");
      await page.getByText(`approves ${many}`).waitFor();
      await join(many);
      await page.locator(`[data-card][data-many='${many + 1}']`).waitFor();
      await page.keyboard.press("Enter");
    }
    await page.waitForTimeout(300);
    grown += await approvals(gateway, [program]);
  }
  check("a group that grows under the finger: nothing approved", grown === 0, grown);

  // New asks come, before and after the one that is selected.
  const sessions = await morning(gateway, PLAIN);
  await page.goto(`${gateway.url}/`);
  await next(page);
  await page.keyboard.press("j");
  const selected = await page.locator("[data-card]").getAttribute("data-card");
  let moved = 0;
  for (let at = 0; at < TRIES; at++) {
    const before = await page.locator("[data-ask]").count();
    const late = at % 2 === 0 ? sessions[0] : await gateway.session(`late ${at}`);
    await gateway.say(late, approve(`go test ./part-${"abcdefghijklmnopqrstuvwxyz"[at]}`));
    if (at % 2 === 1) await until("it in the list", async () => (await page.locator("[data-ask]").count()) > before);
    await page.keyboard.press("Enter");
    if ((await page.locator("[data-card]").getAttribute("data-card")) !== selected) moved += 1;
    if (new URL(page.url()).searchParams.get("ask") !== selected) moved += 1;
  }
  check("a new ask arrives: the selection does not move", moved === 0, moved);
  check("and nothing is approved", (await approvals(gateway, sessions)) === 0);
  await clear(gateway);
  await page.context().close();
}

await run(async (stage) => {
  const { mixed, plain, skipped } = await onADesk(stage);
  const taps = await onAPhone(stage);
  const receipts = await alike(stage);
  await tail(stage);
  await accidents(stage);
  return `Ten asks of three sessions, two marked, one a question: ${mixed} strokes (${skipped} with two skipped); ten plain: ${plain}; on a phone ${taps} taps; ${receipts} alike in one answer with ${receipts} receipts.`;
});
