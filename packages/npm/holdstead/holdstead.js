#!/usr/bin/env node
// Runs the program of the package for this platform, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`@holdstead/${platform}/holdstead`);
} catch {
  console.error(
    `✕ There is no Holdstead for ${platform} here. If npm was told to leave out optional packages, install it without that; ` +
      "else build it with Rust: cargo install --locked holdstead",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal tells Ctrl-C to both of us: what is told to this process alone is passed on.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`✕ ${program} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
