// The TypeScript example, against the real gateway: it waits through a kill, and goes on with what was approved.

import { resolve } from "node:path";
import { runnerImport } from "vite";
import { Gateway } from "./gateway.mjs";

const gateway = await new Gateway().start();
let printed;
try {
  process.env.HOLDSTEAD_URL = gateway.url;
  process.env.HOLDSTEAD_TOKEN = gateway.agentToken("release");
  const { module } = await runnerImport(resolve(import.meta.dirname, "../../examples/typescript/ask.ts"));
  const running = module.main();
  const open = async () => (await gateway.call("GET", "/v1/interactions?state=open")).interactions;
  while ((await open()).length === 0) await new Promise((wake) => setTimeout(wake, 50));
  await gateway.kill();
  await gateway.start(new URL(gateway.url).host);
  const [{ request }] = await open();
  await gateway.call("POST", `/v1/interactions/${request.interactionId}/respond`, {
    promptId: request.promptId,
    idempotencyKey: "k",
    action: "approve",
    editedInput: { to: "staging" },
  });
  printed = await running;
} finally {
  await gateway.stop();
}
console.log(`the TypeScript example: ${printed}`);
process.exit(printed === "deploying to staging" ? 0 : 1);
