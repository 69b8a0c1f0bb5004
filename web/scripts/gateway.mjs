// A real gateway in a folder of its own, for scripts and shows. It listens on loopback and ends with them.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const target = process.env.CARGO_TARGET_DIR ?? resolve(import.meta.dirname, "../../target");

/** The binary: the one named, else the release, else what was built last. */
export function binary() {
  const named = process.env.HOLDSTEAD_BIN;
  const found = [named, join(target, "release/holdstead"), join(target, "debug/holdstead")].find(
    (path) => path && existsSync(path),
  );
  if (!found) throw new Error("There is no holdstead binary. Build it: cargo build -p holdstead");
  return found;
}

/** Where this runs as root, agents may, too. */
function asRoot() {
  return process.getuid?.() === 0 ? { HOLDSTEAD_AGENTS_USER: "root" } : {};
}

export class Gateway {
  /** @param env what the agents need besides */
  constructor(settings = "", env = {}) {
    this.env = env;
    this.dir = mkdtempSync(join(tmpdir(), "holdstead-web-"));
    // Agents work elsewhere: the gateway's own folder is closed to them.
    this.work = mkdtempSync(join(tmpdir(), "holdstead-work-"));
    if (settings) writeFileSync(join(this.dir, "config.toml"), settings);
  }

  async start(listen = "127.0.0.1:0") {
    this.child = spawn(binary(), ["--dir", this.dir, "serve", "--json", "--listen", listen], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...asRoot(), ...this.env },
    });
    let errors = "";
    this.child.stderr.on("data", (data) => {
      errors = (errors + data).slice(-4000);
    });
    this.gone = new Promise((done) => this.child.once("exit", done));
    const first = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]().next();
    const line = await Promise.race([first, this.gone.then(() => ({ value: undefined }))]);
    if (!line.value) throw new Error(`The gateway did not start: ${errors}`);
    const { url, link } = JSON.parse(line.value);
    this.url = url;
    this.link = link;
    this.token = readFileSync(join(this.dir, "token"), "utf8").trim();
    return this;
  }

  /** Dies at once, as after a power cut. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.gone;
  }

  async stop() {
    this.child.kill("SIGTERM");
    await this.gone;
    for (const folder of [this.dir, this.work]) rmSync(folder, { recursive: true, force: true });
  }

  async call(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.token}`,
        Accept: "application/json",
        "Content-Type": "application/json",
      },
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  /** A link that logs one browser in. */
  async newLink() {
    const { code } = await this.call("POST", "/v1/login-links");
    return `${this.url}/login#${code}`;
  }

  /** For a program that asks, and never answers. */
  agentToken(name) {
    return execFileSync(binary(), ["--dir", this.dir, "token", "--role", "agent", "--name", name], {
      encoding: "utf8",
    }).trim();
  }

  async session(title, agent = "scripted") {
    return (await this.call("POST", "/v1/sessions", { agent, title, cwd: this.work })).sessionId;
  }

  say(session, text) {
    return this.call("POST", `/v1/sessions/${session}/messages`, { text });
  }

  async events(session) {
    const all = [];
    for (;;) {
      const { events, head } = await this.call(
        "GET",
        `/v1/sessions/${session}/events?limit=2000&after=${all.at(-1)?.seq ?? 0}`,
      );
      all.push(...events);
      if (events.length === 0 || all.at(-1).seq >= head) return all;
    }
  }
}
