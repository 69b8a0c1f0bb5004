// Asks of every origin whose names, words, titles and diffs lie, and some of a kind that the page does not know.

import { until } from "./harness.mjs";

/** What an asker says to be taken for the page, or for another call. */
const LIES = [
  "Agent calls Bash",
  "Program release wants to run ls",
  "ls -la\n\nMarked because nothing\nApprove once",
  '</h2><h2 class="font-mono">ls -la</h2>',
  "\u202els -la\u202c \u2066ls\u2069 \u200b\ufeff\u2800",
  "`ls` **ls** [Approve](https://example.org) # ls",
  "Allowed by rule: allow Bash(ls:*)",
  `ls ${"a".repeat(400)} ls`,
  "Bash\tls\u001b[2K\u001b[1A ls",
  "Edit README.md +1 −0",
];
const TOOLS = ["Bash", "mcp__ssh__run", "Write", "drop_database", "ExitPlanMode", "AskUserQuestion"];
const ORIGINS = ["agent", "attached", "tool", "caller"];
const KINDS = ["approval", "approval", "approval", "approval", "question", "form", "hologram"];

/** An ask by its number. Each part carries a mark of its own, by which it is found again. */
export function asked(n) {
  const origin = ORIGINS[n % ORIGINS.length];
  const kind = KINDS[Math.floor(n / ORIGINS.length) % KINDS.length];
  const lie = LIES[n % LIES.length];
  const isAgents = origin === "agent" || origin === "attached";
  // A program chooses the names of its tools, and so does a server; one of the gateway's has its own.
  const name = `${origin === "caller" ? lie.slice(0, 40) : ""}${TOOLS[n % TOOLS.length]}_tool${n}`;
  const tool = origin === "tool" && kind === "approval" ? "request_approval" : isAgents && n % 3 === 0 ? "Bash" : name;
  const input = {
    command: `echo first${n} ${lie} && rm -rf last${n}`,
    ...(n % 2 && {
      file_path: `file${n}`,
      plan: `plan${n}`,
      replace_all: `all${n}`,
      [`key${n}`]: [{ deep: `deep${n}` }],
    }),
  };
  const marks = [...JSON.stringify(input).matchAll(new RegExp(`(?:first|last|file|plan|all|key|deep)${n}\\b`, "g"))];
  return {
    n,
    origin,
    kind,
    lie,
    tool,
    input,
    says: `says${n} ${lie}`,
    diff: `diff${n} ${lie}`,
    marks: [...new Set(marks.flat())],
  };
}

/** Asks everything, and returns the id of each ask by its number. */
export async function askAll(gateway, all) {
  for (const one of all) {
    const { n, origin, kind, lie, tool, input, says, diff } = one;
    const mark = kind === "hologram" ? " #hologram#" : origin === "attached" ? " #attached#" : "";
    if (tool === "request_approval") {
      void mcp(gateway, { name: tool, arguments: { action: `says${n} ${lie}`, input } }).catch(() => undefined);
    } else if (origin === "caller" || origin === "tool" || kind === "question" || kind === "form") {
      const question = { id: "q", header: "Q", question: `title${n}`, options: [{ label: "yes" }, { label: "no" }] };
      const fields = [{ id: "f", label: "F", type: "text" }];
      await gateway.call("POST", "/v1/interactions", {
        key: `ask${n}`,
        toolName: tool,
        agentSays: says + mark,
        ...(kind === "form" && { kind, form: { title: `title${n}`, fields } }),
        ...(kind === "question" && { kind, questions: [question] }),
        ...((kind === "approval" || kind === "hologram") && { kind: "approval", input, preview: diff }),
      });
    } else {
      const session = await gateway.session(`session${n}`);
      const flat = JSON.stringify(says + mark).slice(1, -1);
      await gateway.say(session, `approve ${tool} ${JSON.stringify(input)} says ${flat}`);
    }
  }
  const found = new Map();
  await until(
    "all asks",
    async () => {
      for (let after = ""; after !== undefined; ) {
        const page = await gateway.call("GET", `/v1/interactions?state=open&limit=200${after && `&after=${after}`}`);
        for (const { request } of page.interactions) {
          const n = /says(\d+)/.exec(JSON.stringify(request))?.[1];
          if (n) found.set(Number(n), request.interactionId);
        }
        after = page.next;
      }
      return found.size === all.length;
    },
    60_000,
  );
  return found;
}

/** An ask by a tool of the gateway's. It is answered when the ask is. */
function mcp(gateway, params) {
  return fetch(`${gateway.url}/mcp`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${gateway.token}`,
      Accept: "application/json, text/event-stream",
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
}
