// pack.mjs PROGRAM FOLDER: packs the launcher, and the program for this platform, for npm.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
const LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"];

const [program, out] = process.argv.slice(2);
const root = resolve(import.meta.dirname, "../..");
const [, version] = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.+)"$/m);
const launcher = JSON.parse(readFileSync(join(import.meta.dirname, "holdstead/package.json"), "utf8"));
const { platform, arch } = process;
const optionalDependencies = Object.fromEntries(PLATFORMS.map((platform) => [`@holdstead/${platform}`, version]));

pack("holdstead", { ...launcher, version, optionalDependencies }, (folder) => {
  cpSync(join(import.meta.dirname, "holdstead/holdstead.js"), join(folder, "holdstead.js"));
});
const one = {
  name: `@holdstead/${platform}-${arch}`,
  version,
  description: `Holdstead's program for ${platform}-${arch}: install the package holdstead`,
  license: launcher.license,
  os: [platform],
  cpu: [arch],
  ...(platform === "linux" ? { libc: ["glibc"] } : {}),
  // Unpacked as it is: it is run, and never imported.
  preferUnplugged: true,
};
pack(`holdstead-${platform}-${arch}`, one, (folder) => {
  cpSync(program, join(folder, "holdstead"));
  chmodSync(join(folder, "holdstead"), 0o755);
});

function pack(name, manifest, fill) {
  const folder = join(out, "npm", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const licence of LICENCES) cpSync(join(root, licence), join(folder, licence));
  fill(folder);
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: folder, stdio: "inherit" });
}
