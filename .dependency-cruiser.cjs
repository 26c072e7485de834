/** The import rules, run by `scripts/boundaries.mjs`. @type {import("dependency-cruiser").IConfiguration} */

const { readdirSync } = require("node:fs")

const source = (name) => `^packages/${name}/src/`

/** Workspace packages that this one may import. */
const only = (name, allowed) => ({
  name: `${name}-imports`,
  comment: `packages/${name} may import, from the workspace, only: ${allowed.join(", ") || "nothing"}.`,
  severity: "error",
  from: { path: source(name) },
  to: {
    path: "^(packages|test|bench)/",
    pathNot: [`^packages/${name}/`, ...allowed.map((it) => (it.includes("/") ? `^packages/${it}` : source(it)))]
  }
})

/** External packages that this one may import. */
const onlyNpm = (name, allowed) => ({
  name: `${name}-packages`,
  comment: `packages/${name} may import these external packages only: ${allowed.join(", ")}.`,
  severity: "error",
  from: { path: source(name) },
  to: {
    dependencyTypes: ["npm", "npm-dev", "npm-no-pkg", "npm-unknown"],
    pathNot: allowed.map((it) => `node_modules/${it}/`)
  }
})

/** Files that compose a program from its Layers. */
const wiring = (name) => `^packages/${name}/src/(main|Program)\\.ts$`

const wiredOnlyIn = (name) => ({
  name: `${name}-wiring`,
  comment: `In packages/${name} only main.ts and Program.ts import adapters; other files use ports.`,
  severity: "error",
  from: { path: source(name), pathNot: wiring(name) },
  to: { path: source("infra") }
})

/** The order of the contexts: each imports from itself and from those before it. */
const contexts = (
  "ids persistence shared chain secrets limits jobs events mail gating sessions accounts " +
  "recovery signin ai billing skills agents verification instances interaction wallets gateway channels schedules webhooks a2a provisioning administration"
).split(" ")

/** The folder of a context in every package. */
const context = (name) => `^packages/((domain|api|server|worker)/src|infra/src/postgres)/${name}/`

/** Composition of all contexts. */
const compositions = ["^packages/worker/src/jobs/(JobHandlers|RetentionJobs)\\.ts$"]

const lowerContextsOnly = (name, at) => ({
  name: `${name}-order`,
  comment: `The context ${name} imports only from the contexts before it: ${contexts.slice(0, at).join(", ") || "none"}.`,
  severity: "error",
  from: { path: context(name), pathNot: compositions },
  to: { path: context(`(${contexts.slice(at + 1).join("|")})`) }
})

/** Stores that are the service of their context. */
const services = ["UnitLedger", "ModelUsage", "CreditAdjustments", "AgentLog"]

/** Ports over tables: each has an adapter `Postgres<port>.ts`. */
const stores = readdirSync(`${__dirname}/packages/infra/src/postgres`, { recursive: true })
  .map((file) => /\/Postgres(\w+)\.ts$/.exec(file)?.[1])
  .filter((name) => name !== undefined && !services.includes(name))

/** Test Layers beside live ones, with their helper. */
const testLayers = "^packages/infra/src/(testing/|.*Test\\.ts$)"

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Files do not import each other in a cycle.",
      severity: "error",
      from: {},
      to: { circular: true }
    },
    {
      name: "resolvable",
      comment: "Every import resolves.",
      severity: "error",
      // The compared products install their own packages, only during a measurement.
      from: { pathNot: "^bench/rivals/" },
      to: { couldNotResolve: true }
    },
    {
      name: "declared",
      comment: "Every external import is a dependency of the importing package.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown", "npm-dev"] }
    },
    {
      name: "programs-do-not-import-tests",
      comment: "Production code does not import tests.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/" },
      to: { path: "(^test/|^bench/|^packages/[^/]+/test/)" }
    },
    {
      name: "programs-do-not-import-test-layers",
      comment: "Test Layers of ports (*Test.ts) are for tests only.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: testLayers },
      to: { path: testLayers }
    },
    {
      name: "domain-is-pure",
      comment: "The domain does no input or output: it imports no Node modules.",
      severity: "error",
      from: { path: source("domain") },
      to: { dependencyTypes: ["core"] }
    },
    ...contexts.slice(0, -1).map(lowerContextsOnly),
    {
      name: "stores-of-their-context",
      comment: "A context does not use the stores of another context; it calls the other context's service.",
      severity: "error",
      from: { path: "^packages/domain/src/([^/]+)/" },
      to: {
        path: `^packages/domain/src/.+/(${stores.join("|")})\\.ts$`,
        pathNot: ["^packages/domain/src/$1/", "^packages/domain/src/(persistence|jobs|events|limits)/"]
      }
    },
    only("domain", []),
    // decimal.js and croner are pure arithmetic.
    onlyNpm("domain", ["effect", "decimal.js", "croner"]),
    only("api", ["domain"]),
    onlyNpm("api", ["effect", "@effect/platform"]),
    only("client", ["domain", "api"]),
    only("cli", ["client", "api", "domain"]),
    only("infra", ["domain", "api"]),
    only("server", ["domain", "api", "infra"]),
    wiredOnlyIn("server"),
    only("worker", ["domain", "api", "infra"]),
    wiredOnlyIn("worker"),
    only("runtime", ["domain", "api/src/runtime", "api/src/http/Sse"]),
    // Types only: the build would show a runtime import by its size.
    only("console", ["api"]),
    only("supervisor", [
      "infra/src/instance-drivers/process/OrphanedInstances",
      "infra/src/(configuration|crypto|embedded-postgres|files|process|net|telemetry)"
    ])
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|coverage|\\.[^/]+)/" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "node", "default"],
      extensions: [".ts", ".tsx", ".mjs", ".js", ".json", ".d.ts"]
    },
    skipAnalysisNotInRules: true
  }
}
