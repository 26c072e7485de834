// Bundles packages/client and packages/cli for publication.
import { build } from "esbuild"
import { fileURLToPath } from "node:url"

const pathOf = (path) => fileURLToPath(new URL(`../packages/${path}`, import.meta.url))
const common = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  minifySyntax: true,
  logLevel: "warning"
}

await build({
  ...common,
  entryPoints: [pathOf("client/src/Client.ts")],
  outfile: pathOf("client/dist/Client.mjs"),
  external: ["effect", "@effect/platform"]
})
await build({
  ...common,
  entryPoints: [pathOf("cli/src/main.ts")],
  outfile: pathOf("cli/dist/berth.mjs"),
  // Packages in CommonJS call `require`.
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire } from "node:module"\nconst require = createRequire(import.meta.url)'
  }
})

await import("./clientTypes.mjs")
