// packages.mjs PACKAGES TOOLS: each package is installed where nothing else is, its demo started, and the demo's ask answered
// through its page. None of them sees the source tree. Needs root.

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Booted, bareDebian, Folder, Root, runs, SOURCE, starts } from "../scripts/bare-place.mjs";
import { launch } from "../scripts/browser.mjs";
import { card, check, heading, outcome, until } from "./harness.mjs";

const [packed, tools] = process.argv.slice(2);
const here = mkdtempSync(join(tmpdir(), "holdstead-packages-"));
const commit = readFileSync(join(packed, "crates-source/crates/holdstead/commit"), "utf8").trim();
const figures = [];
let ways = 0;
const browser = await launch();
for (const way of [wheel, uvx, npm, debian, crates]) {
  await way().catch((error) => check("it ran to its end", false, error.stack));
}
await browser.close();
rmSync(here, { recursive: true, force: true });
for (const figure of figures) console.log(figure);
process.exit(outcome(`${ways} ways to install it; the demo's ask was answered through the page in each.`));

/** The only file of the packages whose name fits. */
function one(pattern, folder = packed) {
  const fit = readdirSync(folder).filter((name) => pattern.test(name));
  if (fit.length !== 1) throw new Error(`${pattern} in ${folder}: ${fit.join(", ") || "nothing"}`);
  return join(folder, fit[0]);
}

/** Packages lie in the source tree, which is not seen there. */
function brought(place, file) {
  const name = file.split("/").at(-1);
  copyFileSync(file, join(place.path, name));
  return name;
}

function megabytes(...files) {
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Does it, and says how many seconds that took. */
async function timed(act) {
  const begin = performance.now();
  await act();
  return ((performance.now() - begin) / 1000).toFixed(1);
}

async function wheel() {
  heading("A wheel in an empty virtual environment, with Python and nothing else:");
  const place = new Folder(join(here, "wheel"), ["python3"]);
  const file = one(/manylinux.*\.whl$/);
  const name = brought(place, file);
  const seconds = await timed(() => {
    runs(place, ["python3", "-m", "venv", "venv"]);
    runs(place, ["venv/bin/pip", "install", "--no-index", name]);
  });
  const asks = "import holdstead; print(holdstead.Holdstead.__name__)";
  check("the callers' package is in it", runs(place, ["venv/bin/python", "-c", asks]).trim() === "Holdstead");
  await plays("wheel", place, ["venv/bin/holdstead"], `${megabytes(file)}, installed in ${seconds} s`);
}

async function uvx() {
  heading("The wheel by uvx, which needs no environment:");
  const place = new Folder(join(here, "uvx"), ["python3"]);
  const name = brought(place, one(/manylinux.*\.whl$/));
  copyFileSync(join(tools, "bin/uv"), join(place.path, "uv"));
  await plays("uvx", place, ["./uv", "tool", "run", "--offline", "--from", name, "holdstead"], "the same wheel");
}

async function npm() {
  heading("npm packages in an empty folder, with Node and nothing else:");
  // Node's own scripts run in a shell.
  const place = new Folder(join(here, "npm"), ["node", "npm", "npx", "sh"]);
  const files = [one(/^holdstead-[0-9.]+\.tgz$/), one(/^holdstead-linux-.*\.tgz$/)];
  const names = files.map((file) => `./${brought(place, file)}`);
  const seconds = await timed(() => runs(place, ["npm", "install", "--offline", ...names]));
  await plays("npm", place, ["npx", "holdstead"], `${megabytes(...files)}, installed in ${seconds} s`);
  const bin = "node_modules/.bin/holdstead";
  const usage = runs(place, ["sh", "-c", `${bin} nonsense 2>/dev/null; echo $?`]);
  check("the launcher ends as the program ends", usage.trim() === "2", usage);
  const served = starts(place, [bin, "serve", "--json", "--listen", "127.0.0.1:0", "--dir", "data"]);
  await createInterface({ input: served.stdout })[Symbol.asyncIterator]().next();
  const ended = once(served, "exit");
  served.kill("SIGTERM");
  const [code] = await ended;
  check("a signal to the launcher stops the gateway in good order", code === 0, `${code}`);
  rmSync(join(place.path, "node_modules/@holdstead"), { recursive: true });
  const without = runs(place, ["sh", "-c", `${bin} 2>&1; echo $?`]);
  check("without the platform's package it says so", /There is no Holdstead for .*\n1\n$/s.test(without), without);
}

async function debian() {
  heading("A Debian package in a bare Debian:");
  const root = bareDebian(join(here, "root"));
  const file = one(/\.deb$/);
  const name = brought(root, file);
  let said;
  const seconds = await timed(() => {
    said = runs(root, ["dpkg", "--install", `/${name}`]);
  });
  check("it says what to do next, and starts nothing", said.includes("systemctl enable --now holdstead"), said);
  const depends = execFileSync("dpkg-deb", ["--field", file, "Depends"], { encoding: "utf8" }).trim();
  check("it names the glibc it needs", /libc6 \(>= 2\.(\d+)\)/.exec(depends)?.[1] <= 28, depends);
  await plays("deb", root, ["holdstead"], `${megabytes(file)}, installed in ${seconds} s`, "holdstead");
  await service(root);
}

/** The service as systemd runs it, locked down. */
async function service(root) {
  heading("Its service:");
  runs(root, ["apt-get", "install", "--yes", "--no-install-recommends", "systemd"]);
  runs(root, ["systemd-analyze", "verify", "holdstead.service"]);
  check("systemd-analyze verify finds nothing", true);
  const judged = runs(root, [
    "systemd-analyze",
    "security",
    "--offline=true",
    "--threshold=20",
    "--no-pager",
    "holdstead.service",
  ]);
  const [, exposure] = judged.match(/Overall exposure level for holdstead.service: ([0-9.]+)/);
  check("systemd-analyze security is content", exposure < 2, exposure);
  const folder = join(root.path, "var/lib/holdstead");
  // The usual port may be somebody else's on this machine.
  writeFileSync(join(folder, "config.toml"), 'listen = "127.0.0.1:0"\n');
  runs(root, ["systemctl", "enable", "holdstead"]);
  const booted = new Booted(root);
  try {
    const running = join(folder, "gateway.json");
    await until("the service", () => existsSync(running) && existsSync(join(folder, "token")), 60_000);
    const { url } = JSON.parse(readFileSync(running, "utf8"));
    const login = () =>
      runs(booted, ["holdstead", "open", "--no-open", "--json", "--dir", "/var/lib/holdstead"], "holdstead");
    const { link } = JSON.parse(await until("the gateway", () => quietly(login), 30_000));
    const token = readFileSync(join(folder, "token"), "utf8").trim();
    const call = async (path, body) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    };
    const { sessionId } = await call("/v1/sessions", { agent: "scripted", cwd: "/tmp" });
    await call(`/v1/sessions/${sessionId}/messages`, { text: "/demo" });
    await answers(link);
    const shown = runs(booted, ["systemctl", "show", "--property=ActiveState,NRestarts", "holdstead"]);
    check("it runs under systemd, and was not restarted", /NRestarts=0\nActiveState=active/.test(shown), shown);
    figures.push(`service: exposure ${exposure} by systemd-analyze; an ask was answered through it, as systemd ran it`);
  } finally {
    await booted.end();
  }
}

function quietly(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

async function crates() {
  heading("The packaged crates, with Rust and without Node:");
  const cargoHome = process.env.CARGO_HOME ?? join(process.env.HOME, ".cargo");
  // Dependencies are those that packaging fetched and compiled; debug information would double the time.
  const build = { CARGO_HOME: cargoHome, CARGO_TARGET_DIR: join(here, "build"), CARGO_PROFILE_DEV_DEBUG: "0" };
  const place = new Folder(join(here, "crates"), ["cargo", "rustc", "cc", "as", "ld", "ar", "sh"], build);
  mkdirSync(build.CARGO_TARGET_DIR);
  place.shown = { [join(packed, "crates-build")]: build.CARGO_TARGET_DIR };
  const files = readdirSync(join(packed, "crates")).map((name) => join(packed, "crates", name));
  for (const file of files) execFileSync("tar", ["--extract", "--gzip", "--file", file, "--directory", place.path]);
  // Until they are on crates.io: found here, and locked to nothing but their version.
  const unpacked = files.map((file) =>
    file
      .split("/")
      .at(-1)
      .replace(/\.crate$/, ""),
  );
  const patches = unpacked
    .map((name) => name.replace(/-[0-9.]+$/, ""))
    .filter((crate) => crate !== "holdstead")
    .map((crate) => `${crate}.path = "${one(new RegExp(`^${crate}-[0-9.]+$`), place.path)}"\n`);
  mkdirSync(join(place.path, ".cargo"));
  writeFileSync(join(place.path, ".cargo/config.toml"), `[patch.crates-io]\n${patches.join("")}`);
  const program = one(/^holdstead-[0-9.]+$/, place.path);
  const lock = readFileSync(join(program, "Cargo.lock"), "utf8");
  writeFileSync(
    join(program, "Cargo.lock"),
    lock.replace(/(name = "holdstead-.*"\nversion = .*\n)source = .*\nchecksum = .*\n/g, "$1"),
  );
  const seconds = await timed(() =>
    runs(place, ["cargo", "install", "--debug", "--offline", "--locked", "--path", program, "--root", "installed"]),
  );
  const size = `${files.length} crates of ${megabytes(...files)}`;
  await plays(
    "crates",
    place,
    ["installed/bin/holdstead"],
    `${size}, compiled for debugging in ${seconds} s after their dependencies`,
  );
}

/** The version, then the demo with its page. */
async function plays(what, place, program, size, account) {
  const inside = place instanceof Root ? ["sh", "-c"] : ["/bin/sh", "-c"];
  const seen = runs(place, [...inside, `if [ -e '${SOURCE}/Cargo.toml' ]; then echo seen; fi`]);
  check("the source tree is not seen", seen === "", seen);
  const version = runs(place, [...program, "--version"], account).trim();
  check("its version names the commit", version.endsWith(`(${commit})`), version);
  const begin = performance.now();
  const demo = starts(place, [...program, "demo", "--no-open"], account);
  const ended = once(demo, "exit");
  let link;
  for await (const line of createInterface({ input: demo.stdout })) {
    link = /^Page \(works once\): (\S+)$/.exec(line)?.[1];
    if (link) break;
  }
  const page = ((performance.now() - begin) / 1000).toFixed(1);
  try {
    check("the demo has a page", link !== undefined);
    await answers(link);
  } finally {
    process.kill(-demo.pid, "SIGTERM");
    await ended;
  }
  ways += 1;
  figures.push(`${what}: ${size}, its demo's page after ${page} s`);
}

/** The first ask of the demo, answered by hand; the agent goes on to the next. */
async function answers(link) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(link);
  await page.getByRole("radio", { name: "SQLite" }).check();
  await card(page);
  await page.getByRole("button", { name: "Send answer", exact: true }).click();
  await page.getByText("rm -rf dist && npm run build").first().waitFor();
  check("its ask was answered through the page, and the agent went on", true);
  await context.close();
}
