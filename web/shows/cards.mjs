// Every state of the three cards, in a real browser against the real gateway, with what the agent received.

import { connect, createServer } from "node:net";
import { call } from "./as-browser.mjs";
import { card, check, heading, percentile, ROUTED, received, run, stateLine, until } from "./harness.mjs";
import { KINDS } from "./kinds.mjs";

const RACES = 12;
const SOON_MS = Number(process.argv[2] ?? 200);

const LINES = 400;
// The gateway must know all names under which it is reached.
const wire = await line();

await run(async (stage) => {
  for (const kind of KINDS) await states(stage, kind);
  await edits(stage);
  await byKeyboard(stage);
  await interactionOff(stage);
  const slowest = await races(stage);
  await restart(stage);
  await cut(stage);
  return `The loser's screen turned read-only at most ${slowest} ms after the winner's click (${RACES} races).`;
}, `allowed_hosts = ["127.0.0.1:${wire.port}"]`);

/** Opens a session at an ask. */
async function asked({ gateway }, page, kind, settings = "") {
  const session = await gateway.session(`${kind.name} ${settings}`);
  await gateway.say(session, kind.script(settings));
  await page.goto(`${gateway.url}/sessions/${session}`);
  return session;
}

async function states(stage, kind) {
  const { gateway, open } = stage;
  heading(`${kind.name}:`);
  const page = await open(ROUTED);
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const says = (words) => stateLine(page).filter({ hasText: words }).waitFor();
  const holds = async (what, promise) => {
    const failed = await promise.then(
      () => null,
      () =>
        stateLine(page)
          .textContent({ timeout: 1_000 })
          .catch(() => "no card"),
    );
    check(`${kind.name}: ${what}`, failed === null, failed ?? "");
  };

  // Open, submitting, failed, tried again, acknowledged.
  let session = await asked(stage, page, kind);
  await card(page);
  await holds("open", says("Waiting for you"));
  check(
    `${kind.name}: nothing has the focus that could decide`,
    !(await page.evaluate(() => document.activeElement?.hasAttribute("data-decide"))),
  );
  await kind.fill(page);
  let release;
  const held = new Promise((done) => {
    release = done;
  });
  await page.route("**/respond", async (route) => {
    await held;
    await route.abort();
  });
  await press(kind.send);
  await holds("submitting", page.locator("[data-card][aria-busy=true]").waitFor());
  release();
  await holds("submit failed, and can be tried again", page.getByRole("button", { name: "Retry" }).waitFor());
  await page.unroute("**/respond");
  await press("Retry");
  await until("the agent's receipt", async () => (await received(gateway, session)).length === 1);
  const got = await received(gateway, session);
  check(`${kind.name}: the agent received what was chosen, once`, got.length === 1 && kind.isRight(got[0]), got);
  await holds("a receipt that blocks nothing", page.locator("[data-receipts]").getByText("agent has it").waitFor());
  check(`${kind.name}: what is answered is out of the way`, (await page.locator("[data-card]").count()) === 0);
  // A call is one line until it is opened.
  const call = page.getByLabel("Transcript").getByRole("button", { expanded: false, name: "npm run build" });
  if (kind.name === "approval") await call.first().click();
  await holds("in the transcript: the agent has it", page.getByText("agent has it").first().waitFor());

  // Answered on another device.
  session = await asked(stage, page, kind);
  await card(page);
  await kind.type(page);
  const [other] = (await gateway.call("GET", `/v1/interactions?session=${session}`)).interactions;
  await fetch(`${gateway.url}/v1/interactions/${other.request.interactionId}/respond`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${gateway.token}`,
      "Content-Type": "application/json",
      "Holdstead-Surface": "terminal",
    },
    body: JSON.stringify({ promptId: other.request.promptId, idempotencyKey: crypto.randomUUID(), ...kind.api }),
  });
  await holds("answered on another device, says where", says("in the terminal"));
  check(
    `${kind.name}: it can no longer be answered here`,
    (await page.getByRole("button", { name: kind.send, exact: true }).count()) === 0,
  );

  // Timed out.
  session = await asked(stage, page, kind, "[timeout=2s]");
  await card(page);
  await kind.type(page);
  await holds("timed out", says("Nobody answered"));
  if (kind.canBeLate) {
    check(`${kind.name}: what was typed is kept`, (await kind.typed(page)) === "a flat file");
    await card(page);
    await press("Send as a message");
  } else {
    await holds("what was typed is kept", page.getByText("a flat file").waitFor());
    await press("Send as a message");
  }
  const late = await until("the message", async () =>
    (await gateway.events(session)).find(
      (event) => ["late_answer", "user_message"].includes(event.type) && event.data.text.includes("a flat file"),
    ),
  );
  check(`${kind.name}: a late answer reaches the agent as a message`, late !== undefined);
  check(`${kind.name}: time alone settled nothing`, !(await received(gateway, session)).some((one) => one?.settlement));

  // Cancelled by Stop.
  session = await asked(stage, page, kind);
  await card(page);
  await press("Stop");
  await press("Stop and cancel 1 ask");
  await until("the end of the turn", async () => (await gateway.events(session)).some(({ type }) => type === "done"));
  await holds("cancelled under one's eyes, says who stopped it", says(/Cancelled: .+ stopped it/));
  await press("Close");
  await holds("and goes when it is closed", page.locator("[data-card]").waitFor({ state: "detached" }));

  // Parked: no process, and the answer starts it again.
  session = await asked(stage, page, kind, "[hold=300ms:park]");
  await holds("parked", says("Parked"));
  await card(page);
  await kind.fill(page);
  await press(kind.send);
  await until("the answer of a parked agent", async () =>
    (await received(gateway, session)).some((one) => kind.isRight(one)),
  );
  check(`${kind.name}: the answer starts a parked agent, which receives it`, true);

  // Queued: the agent went on.
  session = await asked(stage, page, kind, "[hold=300ms:defer]");
  await holds("queued", says("Agent went on without it"));
  await card(page);
  await kind.fill(page);
  await press(kind.send);
  await until("the late word", async () =>
    (await gateway.events(session)).some(
      (event) => ["late_answer", "grant_added"].includes(event.type) || event.data?.settlement,
    ),
  );
  check(`${kind.name}: a queued ask can be answered`, true);

  // Delivered, and then unknown: the agent is stopped before it can confirm, and dies.
  session = await asked(stage, page, kind);
  await card(page);
  const { data } = (await gateway.events(session)).findLast(
    (event) => event.type === "session_status" && event.data.pid,
  );
  process.kill(-data.pid, "SIGSTOP");
  const asks = (await gateway.call("GET", `/v1/interactions?session=${session}`)).interactions;
  await page.goto(`${gateway.url}/sessions/${session}?ask=${asks[0].request.interactionId}`);
  await card(page);
  await kind.fill(page);
  await press(kind.send);
  await holds("sent, not confirmed", page.locator("[data-receipts]").getByText("sent, not confirmed").waitFor());
  process.kill(-data.pid, "SIGKILL");
  await until("the agent's death", async () =>
    (await gateway.events(session)).some((event) => event.data.delivery === "unknown"),
  );
  // What may have run is left to the person; an answer is given again to the agent's next life.
  const words = kind.canBeLate ? /may or may not have acted|agent has it/ : "it may or may not have acted";
  await holds("unknown, in the transcript", page.getByLabel("Transcript").getByText(words).first().waitFor());
  await page.context().close();
}

async function edits({ gateway, open }) {
  heading("what else a card can do:");
  const page = await open();
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const kind = KINDS.find((one) => one.name === "approval");
  const session = await asked({ gateway }, page, kind);
  await card(page);
  await press("Edit");
  await page.getByLabel("Change the command").fill("npm test");
  await card(page);
  await press("Approve edited command");
  await until("the edit", async () => (await received(gateway, session)).length > 0);
  const { effect } = (await gateway.events(session)).find((event) => event.type === "tool_result").data.output;
  check("an edited command is what the agent runs", effect === 'ran: {"command":"npm test"}', effect);

  await gateway.say(session, kind.script());
  await card(page);
  await press("Remember…");
  const rule = page.getByRole("radio", { name: /Bash with exactly this input.*until this session ends/ });
  check("the literal rule is shown before it is saved", await rule.isVisible());
  await rule.check();
  await card(page);
  await press("Approve and remember");
  await until("the second answer", async () => (await received(gateway, session)).length === 2);
  await gateway.say(session, kind.script());
  await until("the third answer", async () => (await received(gateway, session)).length === 3);
  check(
    "the same input is then approved without a person",
    (await received(gateway, session))[2]?.settlement === "approved",
  );
  await page.goto(`${gateway.url}/rules`);
  await press("Revoke");
  await page.getByText("You have saved no rules").waitFor();
  await gateway.say(session, kind.script());
  await page.goto(`${gateway.url}/sessions/${session}`);
  await card(page);
  check("taken back, the same input asks again", (await received(gateway, session)).length === 3);

  const denied = await asked({ gateway }, page, kind);
  await card(page);
  await press("Deny…");
  await page.getByLabel("What should it do instead?").fill("use pnpm, “please”");
  await card(page);
  await press("Deny");
  const [refused] = await until("the refusal", async () =>
    (await received(gateway, denied)).length > 0 ? received(gateway, denied) : null,
  );
  check("a reason reaches the agent word for word", refused.response.reason === "use pnpm, “please”", refused);

  const form = await gateway.session("bad form");
  await gateway.say(form, KINDS[2].script());
  await page.goto(`${gateway.url}/sessions/${form}`);
  await card(page);
  await page.getByLabel("Version").fill("1.4.0");
  await page.getByLabel("Replicas").fill("99");
  await press("Send");
  await page.locator("[data-field=count] [id$=error]:not(:empty)").waitFor();
  check(
    "what the server objects to stands beside the field, and what was typed stays",
    (await page.getByLabel("Version").inputValue()) === "1.4.0",
  );
  await page.reload();
  await card(page);
  check("a draft survives a reload", (await page.getByLabel("Replicas").inputValue()) === "99");
  await page.getByLabel("Replicas").fill("3");
  await press("Send");
  await until("the form", async () => (await received(gateway, form)).length === 1);
  check("the corrected form is taken", (await received(gateway, form))[0].response.input.count === 3);

  const chat = await asked({ gateway }, page, KINDS[0]);
  await card(page);
  await page.getByLabel("Message to the agent").fill("SQLite");
  await page.getByLabel("Message to the agent").press("Enter");
  await until(
    "the message",
    async () => (await gateway.events(chat)).filter((event) => event.type === "user_message").length === 2,
  );
  check(
    "an ordinary message answers nothing",
    (await received(gateway, chat)).length === 0 && (await stateLine(page).textContent())?.includes("Waiting"),
  );
  await page.context().close();
}

async function byKeyboard({ gateway, open }) {
  heading("by keyboard alone:");
  const page = await open();
  const session = await gateway.session("keyboard");
  await gateway.say(session, [KINDS[1], KINDS[0], KINDS[2]].map((kind) => kind.script()).join("\n"));
  const type = (keys) => page.keyboard.press(keys);
  // The asks of other sessions wait, too.
  const next = async () => {
    const ask = await until(
      "the next ask",
      async () => (await gateway.call("GET", `/v1/interactions?session=${session}`)).interactions[0],
    );
    const id = ask.request.interactionId;
    await page.locator(`[data-ask="${id}"]`).waitFor();
    const rows = await page.locator("[data-ask]").evaluateAll((links) => links.map((link) => link.dataset.ask));
    const shown = () => page.locator("[data-card]").getAttribute("data-card");
    for (let moves = 0; moves < 100 && (await shown()) !== id; moves++) {
      await type(rows.indexOf(await shown()) < rows.indexOf(id) ? "j" : "k");
      await page.waitForTimeout(50);
    }
  };
  await page.locator("[data-card]").waitFor();
  await next();
  await card(page);
  await type("a");
  await type("Enter");
  await until("the approval", async () => (await received(gateway, session)).length === 1);
  await next();
  await page.getByRole("radio", { name: "SQLite" }).waitFor();
  await card(page);
  await type("1");
  await type("Control+Enter");
  await until("the answer", async () => (await received(gateway, session)).length === 2);
  await next();
  await page.getByLabel("Version").waitFor();
  await card(page);
  for (
    let tabs = 0;
    tabs < 12 && !(await page.getByLabel("Version").evaluate((box) => box === document.activeElement));
    tabs++
  )
    await type("Tab");
  await page.keyboard.type("1.4.0");
  await type("Control+Enter");
  await until("the form", async () => (await received(gateway, session)).length === 3);
  const got = await received(gateway, session);
  check(
    "approval, question and form",
    KINDS[1].isRight(got[0]) && KINDS[0].isRight(got[1]) && KINDS[2].isRight(got[2]),
    got,
  );
  await page.context().close();
}

async function interactionOff({ gateway, open }) {
  heading("interaction off:");
  const page = await open();
  await page.goto(`${gateway.url}/you`);
  await page.getByRole("switch", { name: "Answers here" }).click();
  const session = await asked({ gateway }, page, KINDS[0]);
  await page.getByText("This browser shows asks and does not answer them.").waitFor();
  check(
    "the card is read-only",
    (await page.getByRole("button", { name: "Send answer" }).count()) === 0 &&
      (await page.getByRole("radio", { name: "SQLite" }).isDisabled()),
  );
  const ask = (await gateway.call("GET", `/v1/interactions?session=${session}`)).interactions[0].request;
  const answer = { promptId: ask.promptId, idempotencyKey: "x", action: "submit", answers: { store: "SQLite" } };
  const path = `/v1/interactions/${ask.interactionId}/respond`;
  const { status } = await call(page, "POST", path, answer, { "Holdstead-Interaction": "off" });
  check("the gateway refuses it, too (403)", status === 403, String(status));
  await page.getByRole("button", { name: "Answer here" }).click();
  await card(page);
  await KINDS[0].fill(page);
  await page.getByRole("button", { name: "Send answer" }).click();
  await until("the answer", async () => (await received(gateway, session)).length === 1);
  check("switched on while one is open, it can be answered", KINDS[0].isRight((await received(gateway, session))[0]));
  await page.context().close();
}

/** Two browsers on one ask: one wins, the other turns read-only. */
async function races(stage) {
  const { gateway, open } = stage;
  heading("two browsers:");
  const [first, second] = [await open(), await open(ROUTED)];
  const session = await gateway.session("race");
  await Promise.all([first, second].map((page) => page.goto(`${gateway.url}/sessions/${session}`)));
  // Not just any card: the one of the race before may still say how it ended.
  const takesDecisions = (page) =>
    page.locator("[data-decide]:not([aria-disabled=true])", { hasText: "Approve once" }).waitFor();
  const asked = async () => {
    await gateway.say(session, KINDS[1].script());
    await Promise.all([takesDecisions(first), takesDecisions(second)]);
  };
  const times = [];
  for (let race = 0; race < RACES; race++) {
    await asked();
    // The clock is the machine's, the same for both.
    const turned = second.evaluate(
      () =>
        new Promise((done) => {
          const look = () => {
            if (
              ![...document.querySelectorAll("[data-decide]")].some((one) => one.textContent.startsWith("Approve once"))
            ) {
              watcher.disconnect();
              done(Date.now());
            }
          };
          const watcher = new MutationObserver(look);
          watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
          look();
          setTimeout(() => done(Date.now()), 5_000);
        }),
    );
    const clicked = await first.getByRole("button", { name: "Approve once" }).evaluate((button) => {
      const at = Date.now();
      button.click();
      return at;
    });
    times.push((await turned) - clicked);
    await until(
      "the end of the turn",
      async () => (await gateway.call("GET", `/v1/sessions/${session}`)).state === "idle",
    );
  }
  const slowest = Math.max(...times);
  check(
    `the other turns read-only in under ${SOON_MS} ms (median ${percentile(times, 0.5)} ms)`,
    slowest < SOON_MS,
    times,
  );

  // Both at once: the slower one is told who was first.
  await asked();
  let release;
  const held = new Promise((done) => {
    release = done;
  });
  await second.route("**/respond", async (route) => {
    await held;
    await route.continue();
  });
  const won = async () =>
    (await gateway.events(session)).filter((event) => event.type === "interaction_response").length;
  await second.getByRole("button", { name: "Approve once" }).click();
  await second.locator("[data-card][aria-busy=true]").waitFor();
  await first.getByRole("button", { name: "Approve once" }).click();
  await until("the winner", async () => (await won()) === RACES + 1);
  release();
  const words = second.getByRole("alert").filter({ hasText: "approved this" });
  await words.waitFor();
  check("the one who lost is told so", true);
  check("one response won each ask", (await won()) === RACES + 1, await won());
  await first.context().close();
  await second.context().close();
  return slowest;
}

async function restart({ gateway, open }) {
  heading("the gateway is killed with a card open:");
  const page = await open();
  const session = await asked({ gateway }, page, KINDS[0]);
  await card(page);
  await KINDS[0].type(page);
  const { host } = new URL(gateway.url);
  await gateway.kill();
  await page.getByText("Not connected").first().waitFor();
  check(
    "the page says that it is not connected, and the card stays",
    (await page.locator("[data-card]").count()) === 1,
  );
  await gateway.start(host);
  await page.getByText("Not connected").first().waitFor({ state: "detached" });
  check("what was typed is still there", (await KINDS[0].typed(page)) === "a flat file");
  await card(page);
  await page.getByRole("button", { name: "Send answer" }).click();
  await until("the answer", async () => (await received(gateway, session)).length === 1);
  check(
    "and the agent receives the answer",
    (await received(gateway, session))[0].response.answers[0].other === "a flat file",
  );
  await page.context().close();
}

/** A line that can be cut, between the browser and the gateway. */
async function line() {
  const sockets = new Set();
  const wire = { to: null };
  const server = createServer((socket) => {
    const far = connect(wire.to);
    for (const one of [socket, far]) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => sockets.delete(one));
    }
    socket.pipe(far).pipe(socket);
    socket.on("close", () => far.destroy());
    far.on("close", () => socket.destroy());
  });
  const listen = (port) => new Promise((done) => server.listen(port, "127.0.0.1", done));
  await listen(0);
  const { port } = server.address();
  wire.port = port;
  wire.cut = async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  wire.restore = () => listen(port);
  return wire;
}

async function cut({ gateway, open }) {
  heading("the network is cut in the middle of a stream:");
  const { port, hostname } = new URL(gateway.url);
  wire.to = { port: Number(port), host: hostname };
  const base = `http://127.0.0.1:${wire.port}`;
  const page = await open({}, base);
  const session = await gateway.session("stream");
  await page.goto(`${base}/sessions/${session}`);
  await gateway.say(session, Array.from({ length: LINES }, (_, at) => `say line-${at}-end\nwait 5ms`).join("\n"));
  // Any one of its middle: each is on the screen for a moment only.
  await page
    .getByText(/^line-\d\d-end$/)
    .first()
    .waitFor();
  await wire.cut();
  await page.getByText("Not connected").first().waitFor();
  await new Promise((done) => setTimeout(done, 1_000));
  await wire.restore();
  await page.getByText(`line-${LINES - 1}-end`, { exact: true }).waitFor({ timeout: 60_000 });
  const seen = await readAll(page);
  const numbers = seen.flatMap((text) => [...text.matchAll(/^line-(\d+)-end$/g)].map((hit) => Number(hit[1])));
  const expected = Array.from({ length: LINES }, (_, at) => at);
  check(
    `${LINES} lines, none missing, none doubled, in order`,
    JSON.stringify(numbers) === JSON.stringify(expected),
    `${numbers.length} seen`,
  );
  await page.context().close();
  await wire.cut();
}

/** Every item of the transcript, from the first to the last, though only some are in the page at a time. */
async function readAll(page) {
  const items = new Map();
  const list = page.getByLabel("Transcript");
  let top = 0;
  for (;;) {
    await list.evaluate((box, to) => box.scrollTo(0, to), top);
    await page.waitForTimeout(60);
    const rows = await list.evaluate((box) =>
      [...box.querySelectorAll("[data-index]")].map((row) => [Number(row.dataset.index), row.textContent]),
    );
    for (const [at, text] of rows) items.set(at, text);
    const { height, view } = await list.evaluate((box) => ({ height: box.scrollHeight, view: box.clientHeight }));
    if (top + view >= height) break;
    top += view / 2;
  }
  return [...items.entries()].sort(([a], [b]) => a - b).map(([, text]) => text);
}
