// Checks imports against .dependency-cruiser.cjs, and that every source file was checked.
import { readdirSync, readFileSync } from "node:fs"
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

// HTTP belongs to packages/api: the domain names no status codes and no HTTP types.
const httpInDomain = sources.filter(
  (file) =>
    file.startsWith("packages/domain/") && /\bstatus: ?[2-5]\d\d\b|\bHttp[A-Z]\w+/.test(readFileSync(file, "utf8"))
)

const longestHandlers = 120
const longHandlers = sources.filter(
  (file) => file.endsWith("Http.ts") && readFileSync(file, "utf8").split("\n").length - 1 > longestHandlers
)

for (const { from, rule, to } of summary.violations) {
  const why = forbidden.find((it) => it.name === rule.name)?.comment ?? ""
  console.error(`${from} -> ${to}\n  ${rule.name}: ${why}`)
}
for (const file of httpInDomain)
  console.error(`${file}\n  domain-without-http: HTTP statuses and types belong to packages/api.`)
for (const file of longHandlers)
  console.error(`${file}\n  short-handlers: *Http.ts files have at most ${longestHandlers} lines.`)
if (unseen.length > 0) console.error(`Not checked: ${unseen.join(", ")}`)
if (crossings.length < 50)
  console.error(`Only ${crossings.length} imports between packages found: package names do not resolve`)

const failed =
  summary.violations.length > 0 ||
  httpInDomain.length > 0 ||
  longHandlers.length > 0 ||
  unseen.length > 0 ||
  crossings.length < 50
console.error(
  `${modules.length} modules, ${crossings.length} imports between packages, ${summary.violations.length} violations`
)
process.exit(failed ? 1 : 0)
