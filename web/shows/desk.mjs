// The pages around the inbox: first run, palette, theme, decisions found and exported, what is erased, what is put off.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { binary, Gateway } from "../scripts/gateway.mjs";
import { call, identity } from "./as-browser.mjs";
import { readCsv } from "./csv.mjs";
import { card, check, heading, percentile, run, until } from "./harness.mjs";

const DECISIONS = 100_000;
const SOON_MS = 1_000;
/** One ask of all those has this word, as the filler wrote it. */
const RARE = "orchid";
const COMMON = "rollout";
const ROUNDS = 10;

await run(async (stage) => {
  await firstRun(stage);
  await theme(stage);
  await palette(stage);
  const lines = await exported(stage);
  await erased(stage);
  await snoozed(stage);
  const { rare, common } = await found(stage);
  return [
    `A decision among ${DECISIONS.toLocaleString("en")} is on the screen ${rare} ms after the last key`,
    `(a word of all of them: ${common} ms; under ${SOON_MS}).`,
    `All ${lines} lines of the CSV are what the journal says.`,
  ].join(" ");
});

async function firstRun({ gateway, open }) {
  heading("first run:");
  const page = await open();
  await page.getByText("Agents stop here and wait for you.").waitFor();
  check("says what to type", await page.getByText("holdstead run claude").isVisible());
  await page.getByRole("button", { name: "Try the demo" }).click();
  await card(page);
  check("the demo leads to an ask", true);
  const { sessions } = await gateway.call("GET", "/v1/sessions?state=open");
  await gateway.call("POST", `/v1/sessions/${sessions[0].sessionId}/interrupt`);
  await page.goto(`${gateway.url}/`);
  await page.getByText("Nothing waits for you.").waitFor();
  check("an inbox that was used says that nothing waits", true);

  // By keyboard alone: from anywhere to an agent that works.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("new sess");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "New session" }).waitFor();
  await page.keyboard.type("say hello there");
  await page.getByRole("textbox", { name: "Folder" }).fill(gateway.work);
  await page.keyboard.press("Control+Enter");
  await page.getByLabel("Transcript").getByText("hello there", { exact: true }).waitFor();
  const title = await page.getByRole("heading", { level: 1 }).textContent();
  check("a new session starts with its first message, which names it", title?.includes("say hello there"), title);
  await page.context().close();
}

async function theme({ gateway, open }) {
  heading("theme:");
  const page = await open({ colorScheme: "light" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.goto(`${gateway.url}/you`);
  await page.getByText("Dark", { exact: true }).click();
  const dark = await ground();
  check("dark is another ground than light", dark !== light, `${light}, ${dark}`);
  // Every frame of a fresh load, from the first that there is anything to draw.
  await page.addInitScript(() => {
    globalThis.schemes = new Set();
    const look = () => {
      if (document.body) globalThis.schemes.add(getComputedStyle(document.documentElement).colorScheme);
      requestAnimationFrame(look);
    };
    look();
  });
  await page.reload();
  await page.getByText("(this browser)").waitFor();
  const schemes = await page.evaluate(() => [...globalThis.schemes]);
  check(
    "it stays after a reload, and no frame is light",
    (await ground()) === dark && JSON.stringify(schemes) === '["dark"]',
    schemes,
  );
  await page.context().close();
}

async function palette({ gateway, open }) {
  heading("palette:");
  const page = await open();
  const session = await gateway.session("Tidy the attic");
  await gateway.say(session, 'approve Bash {"command":"rm -rf attic"} because no rule covers it');
  const ask = await asked(gateway, session);
  await page.goto(`${gateway.url}/rules`);
  await page.getByRole("heading", { name: "Rules" }).waitFor();
  const go = async (words, down = 0) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type(words);
    await page.getByRole("option", { selected: true }).waitFor();
    for (let at = 0; at < down; at++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("combobox").waitFor({ state: "detached" });
  };
  await go("decided");
  await page.waitForURL(`${gateway.url}/decided`);
  check("leads to a page", true);
  // What waits in it comes first.
  await go("tidy attic", 1);
  await page.waitForURL(`**/sessions/${session}`);
  check("leads to a session by the words of its title", true);
  await page.goto(`${gateway.url}/rules`);
  await page.getByRole("heading", { name: "Rules" }).waitFor();
  await page.locator("main").click({ position: { x: 5, y: 300 } });
  await page.keyboard.press("/");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("rm -rf attic");
  await page.getByRole("option", { selected: true }).filter({ hasText: "rm -rf attic" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**ask=${ask.request.interactionId}`);
  check("leads to an ask by its command", true);
  for (let at = 0; at < 20; at++) {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type("rm -rf attic");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await page.getByRole("combobox").waitFor({ state: "detached" });
  }
  const { state } = await gateway.call("GET", `/v1/interactions/${ask.request.interactionId}`);
  check("and never answers it, 20 times Enter twice", state === "open", state);
  await gateway.call("POST", `/v1/sessions/${session}/interrupt`);
  await page.context().close();
}

function asked(gateway, session) {
  return until(
    "an ask",
    async () => (await gateway.call("GET", `/v1/interactions?session=${session}`)).interactions[0],
  );
}

function answer(gateway, { request }, body) {
  return gateway.call("POST", `/v1/interactions/${request.interactionId}/respond`, {
    promptId: request.promptId,
    idempotencyKey: crypto.randomUUID(),
    ...body,
  });
}

/** Everything that can end an ask, with words that a spreadsheet could stumble over. */
async function exported({ gateway, open }) {
  heading("CSV and JSON lines:");
  const decide = async (title, script, body) => {
    const session = await gateway.session(title);
    await gateway.say(session, script);
    const ask = await asked(gateway, session);
    if (body) await answer(gateway, ask, body);
    return session;
  };
  const approve = (command, settings = "") =>
    `approve ${settings} Bash ${JSON.stringify({ command })} because of the show`;
  await decide("=HYPERLINK(1)", approve('echo "a, b" && echo c'), { action: "approve", scope: "once" });
  await decide("Deny, with words", approve("rm -rf /srv"), { action: "deny", reason: 'No: "never",\nnot even once' });
  await decide("A formula", approve("=1+1"), { action: "deny", reason: "@SUM(1)" });
  await decide("A question", "ask Store: Where do the orders go? | SQLite: one file | PostgreSQL: for a team", {
    action: "submit",
    answers: { store: "PostgreSQL" },
  });
  await decide("Nobody", approve("sleep 1", "[timeout=1s]"), null);
  const stopped = await decide("Stopped", approve("sleep 2"), null);
  await gateway.call("POST", `/v1/sessions/${stopped}/interrupt`);
  const remembered = await decide("Remembered", approve("cargo test"), { action: "approve", scope: "session" });
  await until("the turn's end", async () => (await gateway.call("GET", `/v1/sessions/${remembered}`)).state === "idle");
  const expected = await until("the end of all asks", async () => {
    const ends = await endings(gateway);
    return ends.every((one) => one.outcome !== null) && ends;
  });

  const page = await open();
  await page.goto(`${gateway.url}/decided`);
  const save = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return readFileSync(await download.path(), "utf8");
  };
  const rows = readCsv(await save("CSV"));
  const told = rows.map((row) => ({ ...row, by: row.decider || null, words: row.words || null }));
  const key = (one) =>
    JSON.stringify([
      one.interactionId,
      one.sessionId,
      one.toolName,
      one.openedAt,
      one.decidedAt,
      one.outcome,
      one.by,
      one.words,
    ]);
  const [is, should] = [told.map(key).sort(), expected.map(key).sort()];
  check(
    `${rows.length} lines are the ${expected.length} asks of the journal, their times, ends, deciders and words`,
    JSON.stringify(is) === JSON.stringify(should),
    { only_csv: is.filter((one) => !should.includes(one)), only_journal: should.filter((one) => !is.includes(one)) },
  );
  check(
    "no field can run in a spreadsheet",
    rows.every((row) => Object.values(row).every((field) => !/^[=+\-@\t\r]/.test(field))),
  );
  const lines = (await save("JSON lines"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  check(
    "the JSON lines name the same asks",
    JSON.stringify(lines.map((one) => one.interactionId).sort()) ===
      JSON.stringify(rows.map((one) => one.interactionId).sort()),
  );
  const own = await identity(page);
  const leaked = await page.evaluate(
    (own) => performance.getEntries().some(({ name }) => name.includes(own) || name.includes("hs_")),
    own,
  );
  check("no address carried the browser's key or a token", !leaked);
  await page.context().close();
  return rows.length;
}

/** How each ask ended, read from the events of every session. */
async function endings(gateway) {
  const asks = new Map();
  const sessions = [];
  for (let before = ""; before !== undefined; ) {
    const page = await gateway.call("GET", `/v1/sessions?state=all&limit=200${before && `&before=${before}`}`);
    sessions.push(...page.sessions);
    before = page.next ?? undefined;
  }
  for (const { sessionId } of sessions) {
    for (const { type, at, data } of await gateway.events(sessionId)) {
      const { interactionId } = data;
      const ask = asks.get(interactionId);
      if (type === "interaction_request") {
        const { toolName } = data;
        asks.set(interactionId, {
          interactionId,
          sessionId,
          toolName,
          openedAt: at,
          outcome: null,
          by: null,
          words: null,
        });
      } else if (type === "interaction_response" && data.settlement) {
        const by = data.by === "person" ? data.name : data.by;
        const outcome = data.editedInput ? "approved_with_edit" : data.settlement;
        Object.assign(ask, { outcome, by, words: wordsOf(data), decidedAt: at });
      } else if (type === "interaction_closed") {
        Object.assign(ask, { outcome: data.closing, by: data.by ?? null, decidedAt: at });
      }
    }
  }
  return [...asks.values()];
}

/** A person's words, as a cell of a sheet has them: what would be a formula begins with an apostrophe. */
function wordsOf({ reason, answers }) {
  const words =
    reason ?? answers?.flatMap(({ labels = [], other }) => [...labels, ...(other ? [other] : [])]).join(", ");
  if (!words) return null;
  return /^[=+\-@\t\r]/.test(words) ? `'${words}` : words;
}

async function erased({ gateway, open }) {
  heading("an erased session:");
  const session = await gateway.session("Plant the wisteria");
  await gateway.say(session, 'approve Bash {"command":"plant wisteria"} because of the show');
  await answer(gateway, await asked(gateway, session), { action: "approve", scope: "once" });
  const page = await open();
  await page.goto(`${gateway.url}/decided`);
  await page.getByLabel("Find a decision").fill("wisteria");
  await page.getByRole("main").getByText("plant wisteria").waitFor();
  check("its decision is found while it is there", true);
  await gateway.call("DELETE", `/v1/sessions/${session}`);
  await gateway.call("POST", `/v1/sessions/${session}/erase`);
  await page.reload();
  await page.getByLabel("Find a decision").fill("wisteria");
  await page.getByText("No decision has “wisteria” in it.").waitFor();
  check("and not when it is erased", true);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("wisteria");
  await page.getByText("Nothing has “wisteria” in it.").waitFor();
  check("nor by the palette", true);
  const csv = await call(page, "GET", "/v1/decisions/export?format=csv");
  check("nor in the CSV", csv.status === 200 && !csv.body.includes("wisteria"));
  await page.context().close();
}

/** Put off on one screen, it is put off on the other; taken up there, it is back here. */
async function snoozed({ gateway, open }) {
  heading("snooze on two devices:");
  const session = await gateway.session("Water the ferns");
  await gateway.say(session, 'approve Bash {"command":"water ferns"} because of the show');
  const { request } = await asked(gateway, session);
  const [desk, phone] = [
    await open({ viewport: { width: 1440, height: 900 } }),
    await open({ viewport: { width: 390, height: 844 } }),
  ];
  const waits = (page) => page.locator("[data-ask]").filter({ hasText: "water ferns" }).first();
  await waits(desk).waitFor();
  await waits(phone).waitFor();
  await desk.goto(`${gateway.url}/?ask=${request.interactionId}`);
  await card(desk);
  await desk.keyboard.press("n");
  const there = await until(
    "the snooze",
    async () => (await gateway.call("GET", `/v1/interactions/${request.interactionId}`)).snoozedUntil,
  );
  check("one key puts it off for about an hour", Math.abs(Date.parse(there) - Date.now() - 3_600_000) < 120_000, there);
  await phone
    .getByText(/Not now/)
    .first()
    .waitFor();
  check("the other screen has it under Not now", true);
  await gateway.call("DELETE", `/v1/interactions/${request.interactionId}/snooze`);
  await until(
    "it on both screens",
    async () => !(await phone.getByText(/Not now/).count()) && !(await desk.getByText(/^Not now,/).count()),
  );
  check("taken up again, it waits on both", await waits(phone).isVisible());
  const soon = new Date(Date.now() + 3_000).toISOString();
  await gateway.call("PUT", `/v1/interactions/${request.interactionId}/snooze`, {
    promptId: request.promptId,
    until: soon,
  });
  await phone
    .getByText(/Not now/)
    .first()
    .waitFor();
  await until("the end of its time", async () => !(await phone.getByText(/Not now/).count()), 15_000);
  check("when its time has come it is back by itself", await waits(phone).isVisible());
  await gateway.call("POST", `/v1/sessions/${session}/interrupt`);
  await desk.context().close();
  await phone.context().close();
}

/** A store with many decisions in it, and a person who types. */
async function found({ browser }) {
  heading(`${DECISIONS.toLocaleString("en")} decisions:`);
  // Whose decisions the filler writes.
  const gateway = new Gateway('owner = "everybody"');
  const begin = Date.now();
  execFileSync(
    join(dirname(binary()), "holdstead-show"),
    ["fill-decisions", `sqlite:${join(gateway.dir, "holdstead.db")}`, String(DECISIONS), `terraform destroy ${RARE}`],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  console.log(`  filled in ${Math.round((Date.now() - begin) / 1000)} s`);
  await gateway.start();
  try {
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    await page.goto(await gateway.newLink());
    await page.waitForURL(`${gateway.url}/`);
    await page.goto(`${gateway.url}/decided`);
    const box = page.getByLabel("Find a decision");
    await page.getByRole("main").getByRole("listitem").first().waitFor();
    const look = async (word) => {
      const times = [];
      for (let round = 0; round < ROUNDS; round++) {
        await box.fill("");
        await page.waitForTimeout(400);
        // From the key to the frame in which the gateway's answer is drawn. The word comes at once: its beginning finds it, too.
        await page.evaluate((needle) => {
          performance.clearResourceTimings();
          globalThis.took = new Promise((done) => {
            let typedAt = Number.POSITIVE_INFINITY;
            const typed = () => {
              typedAt = performance.now();
            };
            document.addEventListener("input", typed, { capture: true, once: true });
            const see = () => {
              const answered = performance
                .getEntriesByType("resource")
                .some((one) => one.startTime > typedAt && one.name.includes(`q=${needle}`));
              const rows = [...document.querySelectorAll("main li")];
              if (answered && rows.length > 0 && rows.every((row) => row.textContent.includes(needle)))
                done(performance.now() - typedAt);
              else requestAnimationFrame(see);
            };
            see();
          });
        }, word);
        await box.fill(word);
        times.push(Math.round(await page.evaluate(() => globalThis.took)));
      }
      console.log(`  “${word}”: ${times.join(", ")} ms`);
      return percentile(times, 0.5);
    };
    const rare = await look(RARE);
    check(`one of them by its own word: ${rare} ms after the last key (median of ${ROUNDS})`, rare < SOON_MS);
    check("and it alone", (await page.getByRole("main").getByRole("listitem").count()) === 1);
    const common = await look(COMMON);
    check(`by a word that nearly all have: ${common} ms`, common < SOON_MS);
    await page.context().close();
    return { rare, common };
  } finally {
    await gateway.stop();
  }
}
