// Three nodes on one PostgreSQL behind a proxy that gives each request to the next of them: what one node began, another
// goes on with. Usage: scripts/postgres with node shows/nodes.mjs [tries]

import { copyFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { launch } from "../scripts/browser.mjs";
import { Gateway } from "../scripts/gateway.mjs";
import { call } from "./as-browser.mjs";
import { confirm, marked, signed } from "./confirmations.mjs";
import { authenticator, check, heading, outcome, until } from "./harness.mjs";

const NODES = 3;
const tries = Number(process.argv[2] ?? 200);
const store = process.env.HOLDSTEAD_TEST_POSTGRES;
if (!store) throw new Error("HOLDSTEAD_TEST_POSTGRES names no server: run this under scripts/postgres with.");

/** Passes each request on to the next node, `Host` and all. */
function proxy(nodes) {
  let turn = 0;
  const next = () => new URL(nodes[turn++ % nodes.length].url);
  const server = createServer((from, to) => {
    const { hostname, port } = next();
    const { method, url: path, headers } = from;
    const on = request({ hostname, port, method, path, headers }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    on.on("error", () => to.destroy());
    to.on("close", () => on.destroy());
    from.pipe(on);
  });
  server.on("upgrade", (from, socket) => {
    const { hostname, port } = next();
    const on = connect(port, hostname, () => {
      const lines = from.rawHeaders.flatMap((word, at, all) => (at % 2 === 0 ? [`${word}: ${all[at + 1]}`] : []));
      on.write(`${from.method} ${from.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      on.pipe(socket).pipe(on);
    });
    for (const end of [on, socket]) end.on("error", () => [on, socket].map((one) => one.destroy()));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

const nodes = [];
const server = await proxy(nodes);
const base = `http://localhost:${server.address().port}`;
const browser = await launch();
let status = 1;
try {
  for (let at = 0; at < NODES; at += 1) {
    const node = new Gateway(`store = "${store}"\nallowed_hosts = ["${new URL(base).host}"]`);
    for (const file of at > 0 ? ["secrets.key", "token"] : [])
      copyFileSync(join(nodes[0].dir, file), join(node.dir, file));
    nodes.push(await node.start());
  }
  status = await show();
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  for (const node of nodes) await node.stop();
}
process.exit(status);

async function login() {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(15_000);
  const link = new URL(await nodes[0].newLink());
  await page.goto(`${base}${link.pathname}${link.hash}`);
  await page.waitForURL(`${base}/`);
  return page;
}

/** How many of the tries succeed, and the first words of one that does not. */
async function counted(what, play) {
  let done = 0;
  let first = "";
  for (let at = 0; at < tries; at += 1) {
    const problem = await play(at).catch((error) => error);
    if (problem === undefined) done += 1;
    else first ||= problem instanceof Error ? problem.message : JSON.stringify(problem);
  }
  check(`${what}: ${done} of ${tries} succeed`, done === tries, first);
  return done;
}

function ok({ status, body }) {
  return status < 300 ? undefined : body;
}

async function show() {
  heading(`${NODES} nodes, each request to another one:`);
  const logins = await counted("log-ins", async () => {
    const page = await login();
    const said = ok(await call(page, "GET", "/v1/me"));
    await page.context().close();
    return said;
  });
  const page = await login();
  await authenticator(page);
  await page.goto(`${base}/you`);
  await page.getByRole("button", { name: "Add a passkey…" }).click();
  await page.getByText("For localhost").first().waitFor();
  await page.getByRole("switch", { name: /Ask for a passkey before marked/ }).click();
  await until("the requirement", async () => (await call(page, "GET", "/v1/passkeys")).body.required);
  const confirmed = await counted("challenges, confirmations and acts", async (at) => {
    const one = await marked(nodes[at % NODES]);
    const wanted = await call(page, "POST", one.respond, one.approve);
    if (wanted.body.code !== "passkey_required") return wanted.body;
    return (
      ok(await confirm(page, await signed(page, one.purpose))) ?? ok(await call(page, "POST", one.respond, one.approve))
    );
  });
  const answers = await counted("answers", async (at) => {
    const one = await marked(nodes[at % NODES]);
    return ok(await call(page, "POST", one.respond, { ...one.approve, action: "deny" }));
  });
  return outcome(`show-web-nodes: ${logins + confirmed + answers} of ${3 * tries} succeed on ${NODES} nodes.`);
}
