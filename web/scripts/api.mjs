// Writes the client in src/api/generated from the OpenAPI document of the binary.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import { Gateway } from "./gateway.mjs";

const gateway = await new Gateway().start();
const folder = mkdtempSync(join(tmpdir(), "holdstead-api-"));
try {
  const document = join(folder, "openapi.json");
  writeFileSync(document, JSON.stringify(await gateway.call("GET", "/openapi.json")));
  await createClient({
    input: document,
    output: { path: resolve(import.meta.dirname, "../src/api/generated"), clean: true },
    plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"],
  });
} finally {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
}
