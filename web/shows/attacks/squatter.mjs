// Another program that takes the gateway's port while the gateway is away. It writes down what it is sent.

import { createServer } from "node:http";

export class Squatter {
  /** @param answer gets a request and gives `{status, headers, body}`; null for the words of a page that is not ours */
  constructor(answer) {
    this.answer = answer;
    this.seen = [];
    this.sockets = new Set();
    this.server = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => {
        body += part;
      });
      request.on("end", async () => {
        const { method, url: path, headers } = request;
        const told = { method, path, headers, body };
        this.seen.push(told);
        const said = (await this.answer(told)) ?? { body: "<!doctype html><title>Held</title>" };
        const plain = { "Content-Type": "text/html", "Access-Control-Allow-Origin": "*", "Cache-Control": "no-store" };
        response.writeHead(said.status ?? 200, { ...plain, ...said.headers });
        response.end(said.body ?? "");
      });
    });
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  listen(port = 0) {
    return new Promise((done, fail) => {
      this.server.once("error", fail);
      this.server.listen(port, "127.0.0.1", () => done(this.server.address().port));
    });
  }

  /** Gone at once, with its connections: the gateway needs the port. */
  close() {
    for (const socket of this.sockets) socket.destroy();
    return new Promise((done) => this.server.close(done));
  }
}

/** Answers scripts and pages as given, and everything else as a gateway that has no time. */
export const pretender = (page, scripts = {}, headers = {}) => {
  const busy = { status: 503, headers: { "Content-Type": "application/json" }, body: "{}" };
  return ({ path }) => {
    const [name] = path.split("?");
    if (scripts[name] !== undefined) {
      const kind = { "Content-Type": "text/javascript", "Service-Worker-Allowed": "/", ...headers };
      return { headers: kind, body: scripts[name] };
    }
    return name.startsWith("/v1/") ? busy : { body: page };
  };
};
