// What a browser keeps of its login, and what others on this machine can make of it: a server on another port of the same
// host, which an agent may have started, gets nothing that works. Usage: node shows/login.mjs

import { createServer, get } from "node:http";
import { createServer as createSocket } from "node:net";
import { Gateway } from "../scripts/gateway.mjs";
import { call, identity } from "./as-browser.mjs";
import { card, check, heading, run, until } from "./harness.mjs";

/** A name that is not this machine's own to a browser, as an address in a local network is not. */
const LAN = "holdstead.test";

let attempts = 0;
const text = (page, words) => page.getByText(words).first().waitFor();

await run(
  async (stage) => {
    await links(stage);
    await tabs(stage);
    await sockets(stage);
    await devices(stage);
    await otherPorts(stage);
    await oldCookie(stage);
    await loopbacks(stage);
    await localNetwork(stage);
    return `${attempts} attempts from other ports of the same host, 0 through.`;
  },
  "",
  {},
  [`--host-resolver-rules=MAP ${LAN} 127.0.0.1`],
);

async function links({ gateway, browser }) {
  heading("Links:");
  const context = await browser.newContext();
  const page = await context.newPage();
  const link = await gateway.newLink();
  await page.goto(link);
  await page.waitForURL(`${gateway.url}/`);
  check(
    "a link logs a browser in",
    (await context.cookies()).length === 0 && (await page.evaluate(() => !document.cookie)),
  );
  const kept = await page.evaluate(() =>
    JSON.stringify([location.href, history.length, performance.getEntries().map((one) => one.name)]),
  );
  check("its code is not in the address, nor in what was loaded", !kept.includes(link.split("#")[1]), kept);
  const again = await context.newPage();
  await again.goto(link);
  await again.waitForURL(`${gateway.url}/`);
  check("the same browser opens the same link again and goes on", true);
  const other = await (await browser.newContext()).newPage();
  await other.goto(link);
  await text(other, "This link was used at");
  check("another browser is told that it was used", true);
  await context.close();
}

async function tabs({ gateway, browser }) {
  heading("Several tabs:");
  const context = await browser.newContext();
  const waiting = await context.newPage();
  await waiting.goto(`${gateway.url}/`);
  await text(waiting, "This page needs your link");
  const page = await context.newPage();
  await page.goto(await gateway.newLink());
  await page.waitForURL(`${gateway.url}/`);
  await waiting.getByRole("link", { name: "Inbox" }).waitFor();
  check("a tab that had no login goes on when another one logs in", true);
  const third = await context.newPage();
  await third.goto(`${gateway.url}/`);
  await third.getByRole("link", { name: "Inbox" }).waitFor();
  check("a further tab is logged in", true);
  await page.goto(`${gateway.url}/you`);
  await page
    .getByRole("listitem")
    .filter({ hasText: "(this browser)" })
    .getByRole("button", { name: "Log out" })
    .click();
  await text(waiting, "This page needs your link");
  await text(third, "This page needs your link");
  check("when one tab logs out, all have", (await identity(third)) === null);
  await third.goto(await gateway.newLink());
  await third.waitForURL(`${gateway.url}/`);
  await waiting.getByRole("link", { name: "Inbox" }).waitFor();
  await page.getByRole("link", { name: "Inbox" }).waitFor();
  check("and when it logs in again, all go on", true);
  await context.close();
}

async function sockets({ open }) {
  heading("Sockets:");
  const page = await open();
  const { ticket } = (await call(page, "POST", "/v1/tickets", {})).body;
  const heard = await page.evaluate(async (ticket) => {
    const connect = (query) =>
      new Promise((done) => {
        const socket = new WebSocket(`${location.origin.replace("http", "ws")}/v1/ws${query}`);
        socket.onmessage = ({ data }) => done(JSON.parse(data).type);
        socket.onerror = () => done("refused");
      });
    return [await connect(`?ticket=${ticket}`), await connect(`?ticket=${ticket}`), await connect("")];
  }, ticket);
  check("a ticket opens one socket, once; nothing opens none", `${heard}` === "welcome,refused,refused", heard);
}

async function devices({ gateway, browser }) {
  heading("Where you are logged in:");
  const enter = async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(await gateway.newLink());
    await page.waitForURL(`${gateway.url}/`);
    return page;
  };
  const [one, other] = [await enter(), await enter()];
  const before = await call(one, "GET", "/v1/me");
  await one.goto(`${new URL(one.url()).origin}/you`);
  const rows = one.getByRole("main").getByRole("listitem");
  const own = rows.filter({ hasText: "(this browser)" });
  await own.waitFor();
  check("the page lists this browser and the others, with their last use", (await rows.count()) > 2);
  await own.getByText("signs its requests with a key").waitFor();
  const storage = await one.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  check("it signs with a key, and keeps no token", !storage.includes("hs_") && !storage.includes("hsb_"), storage);
  // Below this one: the browser that was used last.
  const others = rows.filter({ hasText: "Chrome", hasNotText: "(this browser)" });
  await others.first().getByRole("button", { name: "Log out" }).click();
  await text(other, "This page needs your link");
  check("another browser is logged out, and its page says so", true);
  await own.getByRole("button", { name: "Log out" }).click();
  await text(one, "This page needs your link");
  const { devices } = await gateway.call("GET", "/v1/devices");
  const isListed = devices.some(({ deviceId }) => deviceId === before.body.deviceId);
  check("this browser logs out: no key is kept, and it is no device", (await identity(one)) === null && !isListed);
}

/** A server that writes down what it is sent, and whose page tries what a page can. */
function thief(host, gateway, ask) {
  const seen = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      seen.push(JSON.stringify(request.headers), request.url, body);
      response.setHeader("Content-Type", "text/html");
      response.end("<!doctype html><title>A page of somebody else</title>");
    });
  });
  return new Promise((done) =>
    server.listen(0, host, () =>
      done({ port: server.address().port, seen, gateway, ask, close: () => server.close() }),
    ),
  );
}

/** Runs in the thief's page: everything that it can read or send without being asked. Returns what it got. */
async function steal({ url, ask }) {
  const got = {};
  const tried = async (what, attempt) => {
    const patience = new Promise((done) => setTimeout(() => done("nothing"), 1_500));
    got[what] = await Promise.race([attempt().catch((error) => `refused: ${error}`), patience]);
  };
  const respond = JSON.stringify({ promptId: ask.promptId, idempotencyKey: "theirs", action: "approve" });
  const { interactionId: id } = ask;
  await tried("its own storage", async () =>
    JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
  );
  for (const credentials of ["include", "omit"]) {
    for (const path of ["/v1/me", "/v1/interactions", "/", "/openapi.json"])
      await tried(`read ${path} ${credentials}`, async () => (await fetch(url + path, { credentials })).text());
    for (const type of ["text/plain", "application/json"])
      await tried(`approve as ${type} ${credentials}`, async () => {
        const headers = { "Content-Type": type };
        return `${(await fetch(`${url}/v1/interactions/${id}/respond`, { method: "POST", body: respond, headers, credentials })).status}`;
      });
    await tried(`approve without looking ${credentials}`, async () => {
      await fetch(`${url}/v1/interactions/${id}/respond`, {
        method: "POST",
        body: respond,
        mode: "no-cors",
        credentials,
      });
      return "sent";
    });
    await tried(`a ticket ${credentials}`, async () =>
      (await fetch(`${url}/v1/tickets`, { method: "POST", body: "{}", credentials })).text(),
    );
  }
  await tried(
    "a stream",
    () =>
      new Promise((done) => {
        const source = new EventSource(`${url}/v1/interactions/events`, { withCredentials: true });
        source.onmessage = ({ data }) => done(data);
        source.addEventListener("snapshot", ({ data }) => done(data));
        source.onerror = () => done("refused");
      }),
  );
  await tried(
    "a socket",
    () =>
      new Promise((done) => {
        const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`);
        socket.onmessage = ({ data }) => done(data);
        socket.onerror = () => done("refused");
      }),
  );
  await tried(
    "a frame",
    () =>
      new Promise((done) => {
        const frame = document.createElement("iframe");
        frame.onload = () => {
          try {
            done(`read ${frame.contentWindow.localStorage.length} entries`);
          } catch (error) {
            done(`refused: ${error}`);
          }
        };
        frame.src = url;
        document.body.append(frame);
      }),
  );
  await tried("a window", async () => {
    const other = window.open(url);
    await new Promise((done) => setTimeout(done, 800));
    try {
      return `read ${other.localStorage.length} entries`;
    } catch (error) {
      return `refused: ${error}`;
    } finally {
      other?.close();
    }
  });
  await tried("a form", async () => {
    const form = document.createElement("form");
    Object.assign(form, {
      method: "post",
      action: `${url}/v1/interactions/${id}/respond`,
      target: "_blank",
      enctype: "text/plain",
    });
    const field = document.createElement("input");
    Object.assign(field, { name: respond.slice(0, -1), value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
    return "sent";
  });
  return got;
}

async function otherPorts({ gateway, open }) {
  heading("Servers on other ports of the same host:");
  const page = await open();
  const session = await gateway.session("attacked");
  await gateway.say(session, 'approve Bash {"command":"make release"}');
  await page.goto(`${gateway.url}/sessions/${session}`);
  await card(page);
  const own = await page.evaluate(steal, { url: gateway.url, ask: { interactionId: "int_0", promptId: "prm_0" } });
  check(
    "the same script, run by the page itself, reads the page",
    own["read / omit"].includes("<title>Holdstead"),
    own,
  );
  const asks = await gateway.call("GET", `/v1/interactions?session=${session}`);
  const ask = asks.interactions[0].request;
  for (const [host, name] of [
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "localhost"],
    ["::1", "[::1]"],
  ]) {
    const other = await thief(host, gateway, ask);
    const theirs = await page.context().newPage();
    await theirs.goto(`http://${name}:${other.port}/`);
    const got = await theirs.evaluate(steal, { url: gateway.url, ask });
    attempts += Object.keys(got).length;
    const passed = Object.entries(got).filter(([, what]) =>
      /"role"|interactions"|promptId|"ticket"|welcome|^read |^2\d\d$/.test(what),
    );
    check(`${name}: its page reads and decides nothing (${Object.keys(got).length} ways)`, passed.length === 0, passed);
    const all = [...other.seen, ...Object.values(got)].join("\n");
    check(
      `${name}: its server is sent no cookie and no token`,
      !/"cookie"|"authorization"|hsb?_/.test(all),
      all.slice(0, 400),
    );
    const used = await tryEverything(gateway, all);
    check(`${name}: whatever it was sent opens nothing (${used.tried} strings)`, used.opened.length === 0, used.opened);
    await theirs.close();
    other.close();
  }
  const after = await gateway.call("GET", `/v1/interactions/${ask.interactionId}`);
  check("the ask still waits for a person", after.state === "open" || after.state?.state === "open", after.state);
  await page.bringToFront();
  const shown = await card(page);
  await shown.getByRole("button", { name: "Approve once" }).click();
  await until("the approval", async () => {
    const events = await gateway.events(session);
    return events.some((event) => event.type === "interaction_response" && event.data.surface === "web");
  });
  check("its own page approves it, in the browser of the person", true);
}

/** Every string that was seen, as a bearer, as a cookie and as a ticket. */
async function tryEverything(gateway, all) {
  const strings = new Set(all.match(/[\w.-]{8,}/g) ?? []);
  const opened = [];
  for (const secret of strings) {
    for (const headers of [{ Authorization: `Bearer ${secret}` }, { Cookie: `holdstead=${secret}` }]) {
      attempts += 1;
      const answer = await fetch(`${gateway.url}/v1/me`, { headers });
      if (answer.status !== 401) opened.push(secret);
    }
  }
  return { tried: strings.size, opened };
}

async function oldCookie({ gateway, browser }) {
  heading("A cookie:");
  const context = await browser.newContext();
  await context.addCookies([
    { name: "holdstead", value: gateway.token, url: gateway.url, httpOnly: true, sameSite: "Strict" },
  ]);
  const page = await context.newPage();
  await page.goto(`${gateway.url}/`);
  await text(page, "This page needs your link");
  check("a cookie with a valid token opens nothing", true);
  await context.close();
}

async function loopbacks({ gateway, browser }) {
  heading("Both loopback addresses:");
  const { port } = new URL(gateway.url);
  const page = await (await browser.newContext()).newPage();
  for (const name of ["127.0.0.1", "localhost", "[::1]"]) {
    await page.goto(`http://${name}:${port}/`);
    await text(page, "This page needs your link");
  }
  check("127.0.0.1, localhost and [::1] all lead to the gateway", true);
  for (const [held, listen] of [
    ["::1", "127.0.0.1"],
    ["127.0.0.1", "[::1]"],
  ]) {
    const somebody = createSocket();
    await new Promise((done) => somebody.listen(0, held, done));
    const second = new Gateway();
    const words = await second.start(`${listen}:${somebody.address().port}`).then(
      () => "it started",
      (error) => error.message,
    );
    check(`it does not start while somebody else has ${held}`, words.includes("is held by another program"), words);
    await second.stop();
    somebody.close();
  }
}

async function localNetwork({ browser }) {
  heading("Over plain http in a local network:");
  const free = createSocket();
  await new Promise((done) => free.listen(0, "127.0.0.1", done));
  const { port } = free.address();
  await new Promise((done) => free.close(done));
  const gateway = new Gateway(`allowed_hosts = ["${LAN}:${port}"]`);
  await gateway.start(`127.0.0.1:${port}`);
  try {
    const page = await (await browser.newContext()).newPage();
    const link = new URL(await gateway.newLink());
    await page.goto(`http://${LAN}:${port}${link.pathname}${link.hash}`);
    await page.waitForURL(`http://${LAN}:${port}/`);
    check("a browser that does not trust the address is logged in", await page.evaluate(() => !isSecureContext));
    await bound(gateway, page, port);
    const session = await gateway.session("phone");
    await gateway.say(session, 'approve Bash {"command":"make release"}');
    await page.goto(`http://${LAN}:${port}/sessions/${session}`);
    const shown = await card(page);
    await shown.getByRole("button", { name: "Approve once" }).click();
    await text(page, "agent has it");
    check("and answers", true);
  } finally {
    await gateway.stop();
  }
}

/** A browser that cannot sign keeps a bearer, which is less than a key: it holds for this address, and is no admin's. */
async function bound(gateway, page, port) {
  const bearer = await identity(page);
  check("it keeps a bearer of its own kind", /^hsb_/.test(bearer ?? ""), bearer);
  const shown = async (name) => {
    const headers = { Authorization: `Bearer ${bearer}`, Host: `${name}:${port}` };
    return new Promise((done) => get(`${gateway.url}/v1/me`, { headers }, (answer) => done(answer.statusCode)));
  };
  check("which is good at its address alone", (await shown(LAN)) === 200 && (await shown("127.0.0.1")) === 401);
  const network = await call(page, "POST", "/v1/network", { url: `http://${LAN}:${port}` });
  check("and never with an admin's rights", network.status === 403, network);
  await page.goto(`http://${LAN}:${port}/you`);
  await text(page, "Its browser cannot sign over plain http");
  check("its line says so, and recommends https", true);
  await page.goto(`http://${LAN}:${port}/`);
}
