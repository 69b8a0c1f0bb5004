// The gateway's HTTP API and its streams.

/** What went wrong, as the gateway says it; `code` is `network` if it said nothing. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `The gateway answered ${status}.`);
    this.status = status;
    this.code = body.code ?? "unknown";
    this.winner = body.winner;
    this.fieldErrors = body.fieldErrors ?? {};
    this.promptId = body.promptId;
  }

  /** It may or may not have arrived: sending it again with the same key is safe. */
  get isUncertain() {
    return this.code === "network" || this.status >= 500;
  }
}

const PATIENCE_MS = 20_000;

async function call(method, path, body) {
  let answer;
  let text;
  try {
    answer = await fetch(path, {
      method,
      headers: { Accept: "application/json", ...(method === "GET" ? {} : { "Content-Type": "application/json" }) },
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    text = await answer.text();
  } catch {
    throw new Problem(0, { code: "network", detail: "The gateway did not answer." });
  }
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    if (answer.ok) throw new Problem(answer.status, { detail: "The gateway's answer could not be read." });
  }
  if (!answer.ok) throw new Problem(answer.status, value ?? {});
  return value;
}

const part = encodeURIComponent;

export const api = {
  me: () => call("GET", "/v1/me"),
  login: (code) => call("POST", "/v1/login", { code }),
  agents: () => call("GET", "/v1/agents"),
  sessions: () => call("GET", "/v1/sessions"),
  openSession: (body) => call("POST", "/v1/sessions", body),
  say: (session, text) => call("POST", `/v1/sessions/${part(session)}/messages`, { text }),
  interrupt: (session) => call("POST", `/v1/sessions/${part(session)}/interrupt`),
  interaction: (id) => call("GET", `/v1/interactions/${part(id)}`),
  respond: (id, body) => call("POST", `/v1/interactions/${part(id)}/respond`, body),
};

const RETRY_MS = 2_000;

/**
 * Follow a stream until the returned function is called. A browser reopens a stream that broke, but not one
 * that was refused: that is done here.
 * @param {() => string} path asked again at each opening, so that it can carry the place reached
 * @param {Record<string, (data: any) => void>} handlers by the name of the event
 * @param {(connected: boolean) => void} onConnected
 */
export function follow(path, handlers, onConnected) {
  let source;
  let timer;
  const open = () => {
    source = new EventSource(path());
    source.onopen = () => onConnected(true);
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => {
        // A broken connection is an `error` event too, but without data.
        if (event.data !== undefined) handle(JSON.parse(event.data));
      });
    }
    source.addEventListener("error", (event) => {
      if (event.data !== undefined) return;
      onConnected(false);
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
