import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const outDir = "dist/ui";

/**
 * The page names the digests of its scripts and styles: a browser runs no other file under their names, such as one that
 * another program at this port had it keep.
 */
function digested(): Plugin {
  return {
    name: "digested",
    apply: "build",
    closeBundle() {
      const index = join(outDir, "index.html");
      const page = readFileSync(index, "utf8");
      const named = page.replace(/ (src|href)="(\/[^"]+\.(?:js|css))"/g, (attribute, _, path) => {
        const digest = createHash("sha384")
          .update(readFileSync(join(outDir, path)))
          .digest("base64");
        return `${attribute} integrity="sha384-${digest}"`;
      });
      writeFileSync(index, named);
    },
  };
}

/** The binary serves these as they are: it has no compressor of its own. */
function zipped(): Plugin {
  return {
    name: "zipped",
    apply: "build",
    closeBundle() {
      for (const file of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|html)$/.test(file)) continue;
        const path = join(outDir, file);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

const gateway = process.env.HOLDSTEAD_URL ?? "http://127.0.0.1:4780";

export default defineConfig(({ command }) => ({
  // The page signs what it sends for the gateway, and the gateway knows nothing of the development server.
  define: command === "serve" ? { "import.meta.env.GATEWAY": JSON.stringify(new URL(gateway).origin) } : {},
  plugins: [react(), tailwindcss(), digested(), zipped()],
  // Nothing inline: the page's policy allows neither inline scripts nor data addresses.
  build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: "es2023" },
  server: {
    // The gateway checks Host and Origin: for it, this is its own page.
    proxy: { "/v1": { target: gateway, changeOrigin: true, headers: { origin: gateway } } },
  },
}));
