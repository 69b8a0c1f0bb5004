// A program that stops until a person approves, with the client generated from the gateway's OpenAPI document.
//
// HOLDSTEAD_URL and HOLDSTEAD_TOKEN (holdstead token --role agent --name NAME) say where to ask, and as whom.

import { ask, type Interaction, showInteraction } from "../../web/src/api/generated";
import { client } from "../../web/src/api/generated/client.gen";

client.setConfig({
  baseUrl: process.env.HOLDSTEAD_URL ?? "http://127.0.0.1:4780",
  headers: { Authorization: `Bearer ${process.env.HOLDSTEAD_TOKEN}` },
});

/** Until the gateway has taken it: one key is one ask, so that sending it again is safe. */
async function reach(send: () => Promise<{ data?: Interaction; error?: unknown; response?: Response }>) {
  for (let pause = 100; ; pause = Math.min(pause * 2, 5_000)) {
    const { data, error, response } = await send();
    if (data) return data;
    if (response && ![429, 502, 503, 504].includes(response.status)) throw new Error(JSON.stringify(error));
    await new Promise((wake) => setTimeout(wake, pause));
  }
}

/** The input as it was approved; anything else throws. Started again with the same key, it finds the same ask. */
export async function approve<Input>(key: string, toolName: string, input: Input): Promise<Input> {
  const asked = await reach(() => ask({ body: { key, kind: "approval", toolName, input, editable: true } }));
  const id = asked.request.interactionId;
  if (asked.state === "open") {
    // The wait is silent: whoever started this program should know what it waits for.
    const url = client.getConfig().baseUrl;
    console.error(`Waiting for a person: ${toolName}. Answer at ${url}/sessions/${asked.sessionId}?ask=${id}`);
  }
  for (;;) {
    const found = await reach(() => showInteraction({ path: { id }, query: { wait: "30s" } }));
    if (found.state === "closed") throw new Error(`Nobody approved it: ${found.closing}`);
    if (found.state !== "settled") continue;
    if (found.response?.action === "approve") return (found.response.editedInput as Input | undefined) ?? input;
    throw new Error(found.response?.action === "deny" ? `Denied: ${found.response.reason}` : "Not approved");
  }
}

export async function main(): Promise<string> {
  const { to } = await approve("release-1.4.0", "deploy", { to: "production" });
  return `deploying to ${to}`;
}
