// Asks, answers and waits in one process' memory.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const asks = new Map();

function read(request) {
  return new Promise((resolve, reject) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => resolve(text === "" ? {} : JSON.parse(text)));
    request.on("error", reject);
  });
}

function send(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

const server = createServer(async (request, response) => {
  const [, , , id, verb] = request.url.split("?")[0].split("/");
  const body = await read(request);
  if (request.method === "POST" && id === undefined) {
    const ask = { id: randomUUID(), state: "open", input: body.input, waiters: [] };
    asks.set(ask.id, ask);
    return send(response, 201, { id: ask.id, state: ask.state, input: ask.input });
  }
  const ask = asks.get(id);
  if (ask === undefined) return send(response, 404, { detail: "There is no such ask." });
  const told = () => ({ id, state: ask.state, settlement: ask.settlement, input: ask.input });
  if (verb === "respond") {
    if (ask.state !== "open") return send(response, 409, { detail: "It is settled." });
    ask.state = "settled";
    ask.settlement = body.action === "approve" ? "approved" : "denied";
    for (const waiter of ask.waiters) waiter();
    return send(response, 200, told());
  }
  if (ask.state !== "open") return send(response, 200, told());
  ask.waiters.push(() => send(response, 200, told()));
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
