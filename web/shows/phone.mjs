// A phone in the local network: another machine with a browser of its own reads the QR code that the terminal prints, is
// logged in and answers. Nothing pretends that plain http is secure. Usage: node shows/phone.mjs (needs root)

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import jsQR from "jsqr";
import { launch } from "../scripts/browser.mjs";
import { binary } from "../scripts/gateway.mjs";
import { OtherMachine } from "../scripts/other-machine.mjs";
import { card, check, heading, run, until } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
/** A name that somebody else made lead to the gateway. */
const FOREIGN = "rebound.test";
const pictures = join(import.meta.dirname, "../../target/phone");
mkdirSync(pictures, { recursive: true });

/** A server of somebody else's. */
const SERVER = `
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><body>Hello")
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("0.0.0.0", 0), Page)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

const machine = new OtherMachine();
process.on("exit", () => machine.remove());

const text = (page, words) => page.getByText(words).first().waitFor();
const picture = (page, name) => page.screenshot({ path: join(pictures, `${name}.png`) });

await run(async (stage) => {
  const phone = await launch([`--host-resolver-rules=MAP ${FOREIGN} ${machine.here}`], machine.browser);
  try {
    const lan = `http://${machine.here}:${new URL(stage.gateway.url).port}`;
    stage = { ...stage, phone, lan };
    await closed(stage);
    const page = await scanned(stage);
    await answers(stage, page);
    await links(stage, page);
    await strangers(stage);
    await fromThePage(stage);
    await shell(stage);
    return `A phone at ${machine.there} scanned, paired and answered with one tap.`;
  } finally {
    await phone.close();
  }
});

/** `holdstead pair`, with nobody at a terminal. */
function pair(gateway, ...flags) {
  const ran = spawnSync(binary(), ["--dir", gateway.dir, "pair", ...flags], { encoding: "utf8", input: "" });
  return { status: ran.status, out: ran.stdout, words: ran.stderr };
}

/** What a camera would read from the terminal. */
function read(printed) {
  const lines = printed.split("\n").filter((line) => /^[ ▀▄█]+$/.test(line));
  const dark = lines.flatMap((line) => [
    [...line].map((square) => "▀█".includes(square)),
    [...line].map((square) => "▄█".includes(square)),
  ]);
  const scale = 4;
  const [width, height] = [dark[0].length * scale, dark.length * scale];
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const shade = dark[Math.floor(y / scale)][Math.floor(x / scale)] ? 0 : 255;
      pixels.set([shade, shade, shade, 255], (y * width + x) * 4);
    }
  return jsQR(pixels, width, height)?.data;
}

async function newPhone({ phone }) {
  const page = await (await phone.newContext(PHONE)).newPage();
  page.setDefaultTimeout(15_000);
  return page;
}

async function closed(stage) {
  heading("Before anybody opened it:");
  const { gateway, lan } = stage;
  const page = await newPhone(stage);
  const unreachable = await page.goto(lan).then(
    () => "it answers",
    (error) => error.message,
  );
  check("another machine reaches nothing", /ERR_CONNECTION_REFUSED/.test(unreachable), unreachable);
  const { status, words } = pair(gateway, "--at", lan);
  check(
    "`holdstead pair` opens nothing unasked, and says what to type",
    status === 2 && words.includes("--open"),
    words,
  );
  const still = await page.goto(lan).then(
    () => "it answers",
    () => "refused",
  );
  check("and so it stays closed", still === "refused", still);
  const elsewhere = pair(gateway, "--open", "--at", `http://${machine.there}:4780`);
  check("an address that is not this machine's is refused", elsewhere.status !== 0, elsewhere.words);
  await page.context().close();
}

async function scanned(stage) {
  heading("The phone's camera:");
  const { gateway, lan } = stage;
  const { status, out, words } = pair(gateway, "--open", "--at", lan);
  check("`holdstead pair --open` prints a code", status === 0, words);
  const link = read(out);
  check("a decoder reads it, and the same link stands below", Boolean(link) && out.includes(link), out);
  check("it is the address in the local network", link?.startsWith(`${lan}/login#`), link);
  check("the terminal says what plain http means", out.includes("not encrypted"));
  // What a program that shows a preview of a link does: it fetches it.
  const preview = await fetch(link.replace(machine.here, "127.0.0.1"), { headers: { Accept: "text/html" } });
  const page = await newPhone(stage);
  await page.goto(link);
  await page.waitForURL(`${lan}/`);
  check("the phone is logged in, though a program that previews links had fetched it", preview.ok, preview.status);
  const { isSecureContext, worker } = await page.evaluate(() => ({
    isSecureContext,
    worker: "serviceWorker" in navigator,
  }));
  check("its browser does not take the page for secure, and nothing pretends so", !isSecureContext && !worker);
  stage.link = link;
  return page;
}

function sql(gateway, statement) {
  const script =
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=10); r = c.execute(sys.argv[2]).fetchall(); c.commit(); print(r[0][0] if r else '')";
  return execFileSync("python3", ["-c", script, join(gateway.dir, "holdstead.db"), statement], {
    encoding: "utf8",
  }).trim();
}

async function answers({ gateway, lan }, page) {
  heading("An ask on the phone:");
  const session = await gateway.session("from the phone");
  await gateway.say(session, 'approve Bash {"command":"make release"}');
  const ask = await until("the ask", async () => {
    const { interactions } = await gateway.call("GET", `/v1/interactions?session=${session}`);
    return interactions[0]?.request;
  });
  await page.goto(`${lan}/sessions/${session}?ask=${ask.interactionId}`);
  const shown = await card(page);
  await shown.getByText("make release").first().waitFor();
  await picture(page, "ask");
  await shown.getByRole("button", { name: "Approve once" }).tap();
  const answer = await until("the approval", async () => {
    const events = await gateway.events(session);
    return events.find((event) => event.type === "interaction_response");
  });
  check("one tap approves it, and the journal has who and where", answer.data.surface === "web", answer.data);
  await text(page, "agent has it");
  check("the phone says that the agent has it", true);
}

async function links(stage, page) {
  heading("Links that are good no longer:");
  const { gateway, lan, link } = stage;
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForURL(`${lan}/`);
  check("the phone opens its own link again and goes on", true);
  const other = await newPhone(stage);
  await other.goto(link);
  await text(other, "This link was used at");
  await text(other, "holdstead pair");
  await picture(other, "used");
  check("another phone is told that it was used, and how to get one", true);
  const { link: old } = JSON.parse(pair(gateway, "--json", "--at", lan).out);
  sql(gateway, "UPDATE login_links SET expires_at = 1 WHERE used_at IS NULL");
  await other.goto("about:blank");
  await other.goto(old);
  await text(other, "This link is too old");
  await text(other, "holdstead pair");
  check("and so for one that is too old", true);
  await other.goto("about:blank");
  await other.goto(`${lan}/login#${"0".repeat(64)}`);
  await text(other, "This link is not one of ours");
  check("and for one that nobody gave out", true);
  await other.context().close();
}

async function strangers(stage) {
  heading("Strangers:");
  const { gateway, lan } = stage;
  const page = await newPhone(stage);
  const { port } = new URL(gateway.url);
  const answer = await page.goto(`http://${FOREIGN}:${port}/`);
  check("a foreign name that leads here gets words on a page", answer.status() === 403);
  await text(page, "does not answer under this address");
  await text(page, "allowed_hosts");
  const width = await page.evaluate(() => [
    getComputedStyle(document.body).maxWidth,
    document.body.scrollWidth <= innerWidth,
  ]);
  check("which a phone can show", width[0] === "544px" && width[1], width);
  await picture(page, "foreign-host");
  const program = await page.request.get(lan, { headers: { Host: FOREIGN } });
  check("and a program gets JSON", program.headers()["content-type"] === "application/problem+json", program.headers());

  // A server on the other machine, whose page tries the gateway.
  const theirs = spawn("ip", ["netns", "exec", machine.name, "python3", "-c", SERVER], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const port = await new Promise((done) => theirs.stdout.once("data", (data) => done(String(data).trim())));
    await page.goto(`http://${machine.there}:${port}/`);
    const read = await page.evaluate(
      (url) =>
        fetch(`${url}/v1/me`).then(
          (answer) => `read ${answer.status}`,
          (error) => `refused: ${error}`,
        ),
      lan,
    );
    check("another machine's page reads nothing", read.startsWith("refused"), read);
    await page.evaluate((url) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: `${url}/v1/login`, enctype: "text/plain" });
      document.body.append(form);
      form.submit();
    }, lan);
    await text(page, "came from another site's page");
    check("and what it posts is refused in words", true);
  } finally {
    theirs.kill();
  }
  await page.context().close();
}

async function fromThePage(stage) {
  heading("From the page on this machine:");
  const { open, lan } = stage;
  const page = await open();
  await openDevices(page);
  await page.getByRole("button", { name: "Pair a phone…" }).click();
  const drawn = page.getByRole("img", { name: "QR code" });
  await drawn.waitFor();
  await picture(page, "pair");
  const link = await page.getByText("/login#").first().textContent();
  const squares = await drawn.locator("path").getAttribute("d");
  const printed = terminal(squares);
  check("the page shows a code that a decoder reads, with its link", read(printed) === link, link);
  const phone = await newPhone(stage);
  await phone.goto(link);
  await phone.waitForURL(`${lan}/`);
  check("and a phone is logged in with it", true);
  await openDevices(phone);
  await text(phone, "This page came over plain http");
  await picture(phone, "plain-http");
  await text(phone, "so a device that uses plain http never has an admin's rights");
  await text(phone, "Its browser cannot sign over plain http");
  check("it is told what https adds, and how it identifies itself meanwhile", true);
  await phone.context().close();
  await page.context().close();
}

async function openDevices(page) {
  await page.goto(new URL("/you", page.url()).href);
}

/** The squares of the page's code as a terminal prints them. */
function terminal(path) {
  const dark = new Set([...path.matchAll(/M(\d+) (\d+)h1/g)].map(([, x, y]) => `${x} ${y}`));
  const side = Math.max(...[...dark].map((at) => Number(at.split(" ")[0]))) + 5;
  const lines = [];
  for (let y = 0; y < side; y += 2) {
    let line = "";
    for (let x = 0; x < side; x += 1)
      line += " ▀▄█"[Number(dark.has(`${x} ${y}`)) + 2 * Number(dark.has(`${x} ${y + 1}`))];
    lines.push(line);
  }
  return lines.join("\n");
}

async function shell({ gateway, browser }) {
  heading("The page's own files, where the context is secure:");
  const { port } = new URL(gateway.url);
  const url = `http://localhost:${port}`;
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(15_000);
  const refused = [];
  page.on(
    "console",
    (message) => /Content Security Policy|Trusted/i.test(message.text()) && refused.push(message.text()),
  );
  const link = new URL(await gateway.newLink());
  await page.goto(`${url}${link.pathname}${link.hash}`);
  await page.waitForURL(`${url}/`);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await page.getByRole("link", { name: "Inbox" }).first().waitFor();
  const kept = () =>
    page.evaluate(async () => {
      const all = [];
      for (const name of await caches.keys())
        for (const request of await (await caches.open(name)).keys()) all.push(new URL(request.url).pathname);
      return all.sort();
    });
  await until("the kept files", async () => (await kept()).some((path) => path.startsWith("/assets/")));
  const files = await kept();
  check(
    `only the page's files are kept (${files.length})`,
    files.every((path) => /^\/(assets\/.*|theme\.js|icon[\w-]*\.svg)?$/.test(path)),
    files,
  );
  check("the page's policy holds", refused.length === 0, refused);
  const manifest = await page.evaluate(async () => (await fetch("/manifest.webmanifest")).json());
  const icons = await page.evaluate(
    (icons) => Promise.all(icons.map(async ({ src }) => (await fetch(src)).status)),
    manifest.icons,
  );
  check("the manifest and its icons are there", icons.length > 0 && icons.every((status) => status === 200), icons);

  // As if it were of an older gateway: the same script under another name.
  await page.evaluate(async () => {
    const cache = await caches.open("shell");
    const index = await (await cache.match("/")).text();
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(index);
    await cache.put("/assets/older.js", await fetch(script));
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    await cache.put("/", new Response(index.replace(script, "/assets/older.js"), { headers }));
  });
  await gateway.kill();
  await page.reload();
  const script = () => page.locator("script[type=module]").getAttribute("src");
  check("without the gateway the kept page opens", (await script()) === "/assets/older.js", await script());
  await picture(page, "unreachable");
  await gateway.start(`127.0.0.1:${port}`);
  await until("the gateway's own page", async () => (await script().catch(() => null)) !== "/assets/older.js", 20_000);
  await page.getByRole("link", { name: "Inbox" }).first().waitFor();
  check("when the gateway is back with another page, that one takes its place", true);
  check(
    "and nothing else was kept meanwhile",
    (await kept()).every((path) => !path.startsWith("/v1")),
    await kept(),
  );
}
