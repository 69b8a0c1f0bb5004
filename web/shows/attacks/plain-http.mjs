// A browser that cannot sign, at an address in the network over plain http: its bearer is read on the way.

import { get, request } from "node:http";
import { call, identity } from "../as-browser.mjs";
import { attempt } from "./stage.mjs";

export async function plainHttp(stage) {
  console.log("A bearer that was read on the network:");
  const context = await stage.browser.newContext();
  stage.contexts.push(context);
  const page = await context.newPage();
  const there = `http://${stage.lan}:${stage.port}`;
  const link = new URL(await stage.gateway.newLink());
  await page.goto(`${there}${link.pathname}${link.hash}`);
  await page.waitForURL(`${there}/`);
  const bearer = await identity(page);
  const used = (method, path, host, body) =>
    new Promise((done, fail) => {
      const headers = {
        Authorization: `Bearer ${bearer}`,
        Host: host,
        ...(body && { "Content-Type": "application/json" }),
      };
      const send = (method === "GET" ? get : request)(stage.url + path, { method, headers }, (answer) => {
        answer.resume();
        done(answer.statusCode < 300 && `${method} ${path}: ${answer.statusCode}`);
      });
      send.on("error", fail);
      send.end(body);
    });
  const [named, local] = [`${stage.lan}:${stage.port}`, `127.0.0.1:${stage.port}`];
  if (!(await used("GET", "/v1/me", named))) throw new Error("the bearer is not good at its own address");
  await attempt("it opens the gateway on the machine itself", () => used("GET", "/v1/me", local));
  await attempt("it opens the gateway under another name", () => used("GET", "/v1/me", `localhost:${stage.port}`));
  await attempt("it opens the gateway to the network, as an admin does", () =>
    used("POST", "/v1/network", named, JSON.stringify({ url: there })),
  );
  await attempt("it makes a link that logs a browser in on the machine itself, as an admin", async () => {
    const { status, body } = await call(page, "POST", "/v1/login-links", {});
    if (status >= 300) return null;
    const other = await (await stage.browser.newContext()).newPage();
    await other.goto(`${stage.url}/login#${body.code}`);
    await other.waitForURL(`${stage.url}/`);
    const me = await call(other, "GET", "/v1/me");
    await other.context().close();
    return me.body.role === "admin" && "a browser with an admin's rights";
  });
}
