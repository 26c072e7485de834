// Checks who imports whom (rules: .dependency-cruiser.cjs). Fails as well when it sees too little to be believed.
import { readdirSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { cruise } from "dependency-cruiser"
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config"

const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
const { forbidden, options } = createRequire(import.meta.url)("../.dependency-cruiser.cjs")

const sources = readdirSync("packages").flatMap((name) =>
  readdirSync(join("packages", name), { recursive: true })
    .map((file) => join("packages", name, String(file)))
    .filter((file) => /^packages\/[^/]+\/src\/.*\.ts$/.test(file.replaceAll("\\", "/")))
)

const { output } = await cruise(
  ["packages", "test", "bench"],
  { ...options, ruleSet: { forbidden }, validate: true },
  options.enhancedResolveOptions,
  { tsConfig: extractTSConfig(options.tsConfig.fileName) }
)
const { modules, summary } = output

const seen = new Set(modules.map((module) => module.source))
const unseen = sources.filter((file) => !seen.has(file))
const crossings = modules.flatMap((module) =>
  module.dependencies.filter(
    (dependency) =>
      dependency.resolved.startsWith("packages/") && module.source.split("/")[1] !== dependency.resolved.split("/")[1]
  )
)

for (const { from, rule, to } of summary.violations) {
  const why = forbidden.find((it) => it.name === rule.name)?.comment ?? ""
  console.error(`${from} -> ${to}\n  ${rule.name}: ${why}`)
}
if (unseen.length > 0) console.error(`Not looked at: ${unseen.join(", ")}`)
if (crossings.length < 50)
  console.error(`Only ${crossings.length} imports between packages were found: names do not resolve`)

const failed = summary.violations.length > 0 || unseen.length > 0 || crossings.length < 50
console.error(
  `${modules.length} modules, ${crossings.length} imports between packages, ${summary.violations.length} violations`
)
process.exit(failed ? 1 : 0)
