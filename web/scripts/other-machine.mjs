// Another machine in a local network with this one: a network namespace with an address of its own. Needs root.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { place } from "./browser.mjs";

const ip = (...args) => execFileSync("ip", args, { stdio: ["ignore", "pipe", "pipe"] });

export class OtherMachine {
  constructor() {
    const number = process.pid % 250;
    this.name = `holdstead-${process.pid}`;
    this.link = `hs${process.pid}`;
    /** This machine's address in the network, and the other's. */
    this.here = `10.213.${number}.1`;
    this.there = `10.213.${number}.2`;
    this.dir = mkdtempSync(join(tmpdir(), "holdstead-machine-"));
    ip("netns", "add", this.name);
    ip("link", "add", this.link, "type", "veth", "peer", "name", "eth0", "netns", this.name);
    ip("addr", "add", `${this.here}/24`, "dev", this.link);
    ip("link", "set", this.link, "up");
    ip("-n", this.name, "addr", "add", `${this.there}/24`, "dev", "eth0");
    for (const device of ["eth0", "lo"]) ip("-n", this.name, "link", "set", device, "up");
  }

  /** Starts the browser on that machine. */
  get browser() {
    const program = join(this.dir, "browser");
    writeFileSync(program, `#!/bin/sh\nexec ip netns exec ${this.name} ${place()} "$@"\n`);
    chmodSync(program, 0o755);
    return program;
  }

  remove() {
    ip("netns", "del", this.name);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
