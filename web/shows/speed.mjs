// How much is loaded, what signing costs, how soon an event is seen, how soon a long session is open.

import { createServer } from "node:net";
import { Gateway } from "../scripts/gateway.mjs";
import { card, check, heading, percentile, run, until } from "./harness.mjs";

const MOST_SCRIPT = 250_000;
const SOON_MS = 100;
const STREAMS = 20;
const TICKS = 150;
const EVENTS = 50_000;
const OPEN_MS = 1_000;
const ANSWERS = 100;
/** In milliseconds, before each answer: what the last one drew is drawn. */
const REST = 200;
const SIGNING_MS = 3;
/** A name that this browser does not trust, so its page there keeps a bearer and signs nothing. */
const LAN = "holdstead.test";

async function all(stage) {
  const { script, all } = await firstLoad(stage);
  const added = await signing(stage);
  const seen = await toPixels(stage);
  const opened = await longSession(stage);
  return [
    `Signing adds ${added} ms p50 to an answer (at most ${SIGNING_MS})`,
    `first load ${Math.round(all / 1000)} kB, ${Math.round(script / 1000)} of them gzipped script (at most ${MOST_SCRIPT / 1000})`,
    `journal to pixels p95 ${seen} ms with ${STREAMS} sessions streaming (under ${SOON_MS})`,
    `${EVENTS.toLocaleString("en")} events open in ${opened} ms (under ${OPEN_MS}).`,
  ].join("; ");
}
await run(all, "", {}, [`--host-resolver-rules=MAP ${LAN} 127.0.0.1`]);

async function firstLoad({ gateway, browser }) {
  heading("first load:");
  const context = await browser.newContext();
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  const answers = new Map();
  const sizes = new Map();
  network.on("Network.responseReceived", ({ requestId, type, response }) =>
    answers.set(requestId, { kind: type, ...response }),
  );
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.set(requestId, encodedDataLength));
  await page.goto(await gateway.newLink());
  await page.waitForURL(`${gateway.url}/`);
  await page.getByText("Nothing waits for you").waitFor();
  // The link leads to the page a second time, from the cache.
  const loaded = [...answers].filter(([, answer]) => !answer.fromDiskCache);
  const scripts = loaded.filter(([, { kind }]) => kind === "Script");
  check(
    "scripts come zipped",
    scripts.every(([, { headers }]) => headers["content-encoding"] === "gzip"),
  );
  const bytes = (some) => some.reduce((sum, [id]) => sum + (sizes.get(id) ?? 0), 0);
  for (const kind of new Set(loaded.map(([, answer]) => answer.kind))) {
    const some = loaded.filter(([, answer]) => answer.kind === kind);
    console.log(`  ${kind}: ${bytes(some).toLocaleString("en")} bytes, ${some.length} of them`);
  }
  const script = bytes(scripts);
  check(`${script.toLocaleString("en")} bytes of script`, script > 0 && script <= MOST_SCRIPT);
  await context.close();
  return { script, all: bytes(loaded) };
}

/** The same answers by a page that signs and by one that sends its bearer, in turn: from the click to the gateway's reply. */
async function signing({ browser }) {
  heading(`${ANSWERS} answers by a browser that signs and as many by one that does not:`);
  const port = await freePort();
  const gateway = new Gateway(`allowed_hosts = ["${LAN}:${port}"]`);
  await gateway.start(`127.0.0.1:${port}`);
  try {
    const signs = await asked(gateway, browser, gateway.url);
    const sends = await asked(gateway, browser, `http://${LAN}:${port}`);
    check("one signs, and one cannot", (await isTrusted(signs)) && !(await isTrusted(sends)));
    // Each is first as often as the other.
    for (let at = 0; at < ANSWERS; at += 1)
      for (const page of at % 2 === 0 ? [signs, sends] : [sends, signs]) await approve(page, at);
    const [signed, sent] = [await waits(signs), await waits(sends)];
    const [ofSigned, ofSent] = [signed, sent].map((each) => percentile(each, 0.5).toFixed(1));
    console.log(`  p50 with a signature ${ofSigned} ms, with a bearer ${ofSent} ms`);
    const differences = signed.map((time, at) => time - sent[at]);
    const added = Math.round(percentile(differences, 0.5) * 10) / 10;
    check(`signing adds at most ${SIGNING_MS} ms p50`, added <= SIGNING_MS, added);
    return added;
  } finally {
    await gateway.stop();
  }
}

function isTrusted(page) {
  return page.evaluate(() => isSecureContext);
}

/** A page on a session that asks again and again. It keeps when each click came. */
async function asked(gateway, browser, base) {
  const page = await (await browser.newContext()).newPage();
  const { pathname, hash } = new URL(await gateway.newLink());
  await page.goto(`${base}${pathname}${hash}`);
  await page.waitForURL(`${base}/`);
  const session = await gateway.session("asks");
  await gateway.say(session, `repeat ${ANSWERS}\napprove Bash {"command":"make"}\nend`);
  await page.goto(`${base}/sessions/${session}`);
  await page.evaluate(() => {
    performance.setResourceTimingBufferSize(10_000);
    globalThis.clicks = [];
    // An answer whose nonce was too old is sent twice: its second reply counts.
    globalThis.answers = () => {
      const replies = performance
        .getEntriesByType("resource")
        .filter(({ name }) => /\/interactions\/[^/]+\/respond$/.test(name));
      return [...new Map(replies.map((one) => [one.name, one])).values()];
    };
    addEventListener("click", () => globalThis.clicks.push(performance.now()), { capture: true });
  });
  return page;
}

async function approve(page, at) {
  await page.waitForTimeout(REST);
  await (await card(page)).getByRole("button", { name: "Approve once" }).click();
  await page.waitForFunction((count) => globalThis.answers().length === count, at + 1);
}

/** Milliseconds from each click to the end of its answer's reply. */
function waits(page) {
  return page.evaluate(() => globalThis.answers().map(({ responseEnd }, at) => responseEnd - globalThis.clicks[at]));
}

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** From the moment an event stands in the journal to the frame that shows it. */
async function toPixels({ gateway, open }) {
  heading(`journal to pixels, ${STREAMS} sessions streaming:`);
  const page = await open();
  const sessions = [];
  for (let at = 0; at < STREAMS; at++) sessions.push(await gateway.session(`stream ${at}`));
  const [watched] = sessions;
  await page.goto(`${gateway.url}/sessions/${watched}`);
  await page.getByText("Nothing was said yet").waitFor();
  await page.evaluate(() => {
    globalThis.ticks = {};
    const look = () => {
      for (const row of document.querySelectorAll("[data-index]")) {
        // The script itself stands in the transcript, too, as the person's message.
        const number = /^tick-(\d+)-end$/.exec(row.textContent)?.[1];
        if (number === undefined) continue;
        if (globalThis.ticks[number] !== undefined) continue;
        globalThis.ticks[number] = 0;
        // After the frame in which it is drawn.
        requestAnimationFrame(() => {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => {
            globalThis.ticks[number] = Date.now();
          };
          channel.port2.postMessage(0);
        });
      }
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const chatter = `repeat ${TICKS * 4}\nsay some words that stream along while others are looked at\nwait 40ms\nend`;
  await Promise.all(sessions.slice(1).map((session) => gateway.say(session, chatter)));
  await gateway.say(watched, Array.from({ length: TICKS }, (_, at) => `say tick-${at}-end\nwait 60ms`).join("\n"));
  await until("the last tick", () => page.evaluate((last) => globalThis.ticks[last] > 0, TICKS - 1), 120_000);
  const shown = await page.evaluate(() => globalThis.ticks);
  // A message is complete with its last delta.
  const texts = new Map();
  const written = new Map();
  for (const event of await gateway.events(watched)) {
    if (event.type !== "text_delta") continue;
    const text = (texts.get(event.data.messageId) ?? "") + event.data.text;
    texts.set(event.data.messageId, text);
    const number = /^tick-(\d+)-end$/.exec(text.trim())?.[1];
    if (number) written.set(number, Date.parse(event.at));
  }
  const waits = [...written].map(([number, at]) => shown[number] - at).filter(Number.isFinite);
  const busy = await Promise.all(
    sessions.slice(1).map(async (id) => (await gateway.call("GET", `/v1/sessions/${id}`)).state === "running"),
  );
  const p95 = percentile(waits, 0.95);
  console.log(
    `  ${waits.length} events: median ${percentile(waits, 0.5)} ms, p95 ${p95} ms, slowest ${Math.max(...waits)} ms`,
  );
  check("every tick was seen", waits.length === TICKS, waits.length);
  check("the others streamed all the while", busy.every(Boolean), busy.filter(Boolean).length);
  check(`p95 under ${SOON_MS} ms`, p95 < SOON_MS);
  await Promise.all(sessions.map((session) => gateway.call("POST", `/v1/sessions/${session}/interrupt`)));
  await page.context().close();
  return p95;
}

async function longSession({ gateway, open }) {
  heading(`a session of ${EVENTS.toLocaleString("en")} events:`);
  const session = await gateway.session("long");
  // A tool call without a person makes four events.
  await gateway.say(
    session,
    `repeat ${EVENTS / 4}\ntool Read {"path":"src/main.rs","n":1} => ok\nend\nsay the-very-end`,
  );
  await until(
    "the end of the turn",
    async () => {
      const { state, seq } = await gateway.call("GET", `/v1/sessions/${session}`);
      return state === "idle" && seq >= EVENTS;
    },
    300_000,
  );
  const page = await open();
  const times = [];
  for (let round = 0; round < 5; round++) {
    await page.goto(`${gateway.url}/`);
    const link = page.locator(`a[href="/sessions/${session}"]`).first();
    await link.waitFor();
    await page.evaluate(() => {
      globalThis.opened = new Promise((done) => {
        const look = () =>
          document.querySelector("[data-index]") &&
          document.body.textContent.includes("the-very-end") &&
          requestAnimationFrame(() => done(performance.now()));
        new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
      });
    });
    const begin = await link.evaluate((element) => {
      const at = performance.now();
      element.click();
      return at;
    });
    times.push(Math.round((await page.evaluate(() => globalThis.opened)) - begin));
  }
  const median = percentile(times, 0.5);
  console.log(`  opened ${times.length} times: ${times.join(", ")} ms`);
  check(`open in under ${OPEN_MS} ms (median of ${times.length})`, median < OPEN_MS);

  const frames = await page.getByLabel("Transcript").evaluate(async (box) => {
    const gaps = [];
    let last = performance.now();
    for (let step = 0; step < 120; step++) {
      box.scrollTop = box.scrollHeight * Math.abs(Math.sin(step / 7));
      await new Promise(requestAnimationFrame);
      gaps.push(performance.now() - last);
      last = performance.now();
    }
    return gaps;
  });
  const frame = Math.round(percentile(frames, 0.95));
  console.log(`  scrolling through all of it: p95 ${frame} ms a frame, slowest ${Math.round(Math.max(...frames))} ms`);
  check("it scrolls smoothly (p95 of a frame under 50 ms)", frame < 50);
  const nodes = await page.evaluate(() => document.querySelectorAll("[data-index]").length);
  check("only what is in sight is in the page", nodes < 100, nodes);
  await page.context().close();
  return median;
}
