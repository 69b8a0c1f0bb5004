// The gateway stops, another program takes its port, and an open tab comes back to it. Everything that the program is sent
// is tried against the gateway when that is back.

import { createServer, request } from "node:http";
import { until } from "../harness.mjs";
import { attempt, gains } from "./stage.mjs";

const problem = (code, nonce) => ({
  status: 401,
  headers: { "Content-Type": "application/problem+json", ...(nonce && { "Holdstead-Nonce": nonce }) },
  body: JSON.stringify({ code }),
});

/** What a program can have of the gateway's nonces before: it hands them out with refusals. */
async function nonces(url) {
  const found = [];
  for (let at = 0; at < 5; at += 1) {
    const signature = `Signature key="${"A".repeat(87)}", nonce="", digest="${"A".repeat(43)}", signature="${"A".repeat(86)}"`;
    const answer = await fetch(`${url}/v1/me`, { headers: { Authorization: signature } });
    found.push(answer.headers.get("Holdstead-Nonce"));
    await answer.text();
  }
  return found.filter(Boolean);
}

export async function openTab(stage) {
  console.log("An open tab, while another program has the port:");
  const tab = await stage.person();
  const given = await nonces(stage.url);
  const guesses = [...given, "", "1", "A".repeat(43), `${Date.now()}`];
  const session = await stage.gateway.session("asked");
  await stage.gateway.say(session, 'approve Bash {"command":"make release"}');
  await tab.goto(`${stage.url}/sessions/${session}`);
  const approve = tab.getByRole("button", { name: "Approve once" });
  await approve.waitFor();

  let turn = 0;
  const { seen } = await stage.squatted(
    ({ headers }) => (headers.authorization ? problem("nonce_refused", guesses[turn++ % guesses.length]) : null),
    async (squatter) => {
      const calls = () => squatter.seen.filter(({ headers }) => headers.authorization);
      await until("the tab to come back", () => calls().length > 1);
      // The person answers, and looks at what is there.
      await approve.click({ timeout: 5_000 }).catch(() => undefined);
      await until("the tab's answer", () => calls().some(({ method }) => method === "POST"), 8_000).catch(
        () => undefined,
      );
      await tab.waitForTimeout(3_000);
    },
  );
  const taken = seen.filter(({ headers }) => headers.authorization);
  if (taken.length === 0) throw new Error("The tab sent the other program nothing.");
  const all = (change) => tryAll(stage.url, taken.map(change));
  const bodies = { "content-type": "application/json" };
  const with_ = ({ headers }) => ({ authorization: headers.authorization, ...bodies });

  await attempt("each request again, as it was", () => all((one) => ({ ...one, headers: pick(one.headers) })));
  await attempt("its header with the address of the device", () =>
    all((one) => ({ method: "GET", path: "/v1/me", headers: with_(one) })),
  );
  await attempt("its header with another query", () =>
    all((one) => ({ method: "GET", path: "/v1/interactions?limit=200", headers: with_(one) })),
  );
  await attempt("its header with another method", () =>
    all((one) => ({ method: "POST", path: "/v1/tickets", headers: with_(one), body: "{}" })),
  );
  await attempt("its header with another body", () =>
    all((one) => ({ method: "POST", path: "/v1/rules", headers: with_(one), body: '{"line":"allow Bash(make:*)"}' })),
  );
  await attempt("its header under another name of the gateway", () =>
    all((one) => ({ method: "GET", path: "/v1/me", headers: { ...with_(one), host: `localhost:${stage.port}` } })),
  );
  await attempt("a login link, made with its header", () =>
    all((one) => ({ method: "POST", path: "/v1/login-links", headers: with_(one), body: "{}" })),
  );
  await attempt("each string that was sent, as a bearer", () => {
    const strings = new Set(taken.flatMap((one) => JSON.stringify(one).match(/[\w.-]{20,}/g) ?? []));
    const as = (secret) => ({ method: "GET", path: "/v1/me", headers: { authorization: `Bearer ${secret}` } });
    return tryAll(stage.url, [...strings].map(as));
  });
  await attempt("to pass the tab's requests on to a gateway that had to take another port", () => relayed(stage, tab));
}

const pick = ({ authorization, accept, "content-type": type }) => ({
  authorization,
  ...(accept && { accept }),
  ...(type && { "content-type": type }),
});

async function tryAll(url, requests) {
  for (const request of requests) {
    const gained = await gains(url, request);
    if (gained) return gained;
  }
  return null;
}

/** The gateway is back at another port, and the program sits between: what the tab signs arrives at once. */
async function relayed(stage) {
  const tab = await stage.person();
  const { gateway, port } = stage;
  gateway.child.kill("SIGTERM");
  await gateway.gone;
  await gateway.start();
  const elsewhere = new URL(gateway.url);
  const passed = [];
  const relay = createServer((from, to) => {
    const headers = { ...from.headers, host: elsewhere.host, ...(from.headers.origin && { origin: elsewhere.origin }) };
    const on = request(gateway.url + from.url, { method: from.method, headers }, (answer) => {
      if (from.headers.authorization && answer.statusCode === 200) passed.push(`${from.method} ${from.url}`);
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    on.on("error", () => to.destroy());
    from.pipe(on);
  });
  await new Promise((done) => relay.listen(port, "127.0.0.1", done));
  await tab.goto(`http://127.0.0.1:${port}/you`);
  await tab.waitForTimeout(2_500);
  relay.closeAllConnections();
  await new Promise((done) => relay.close(done));
  gateway.child.kill("SIGTERM");
  await gateway.gone;
  await gateway.start(`127.0.0.1:${port}`);
  return passed.length > 0 && passed[0];
}
