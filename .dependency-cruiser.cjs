/** Who may import whom. `scripts/boundaries.mjs` runs it. @type {import("dependency-cruiser").IConfiguration} */

const source = (name) => `^packages/${name}/src/`

/** Packages of the workspace that this one may import; everything else of the workspace is forbidden. */
const only = (name, allowed) => ({
  name: `${name}-imports`,
  comment: `packages/${name} may import, of the workspace, only: ${allowed.join(", ") || "nothing"}.`,
  severity: "error",
  from: { path: source(name) },
  to: {
    path: "^(packages|test|bench)/",
    pathNot: [`^packages/${name}/`, ...allowed.map((it) => (it.includes("/") ? `^packages/${it}` : source(it)))]
  }
})

/** Packages from outside that this one may import. */
const onlyNpm = (name, allowed) => ({
  name: `${name}-packages`,
  comment: `packages/${name} may import, from outside, only: ${allowed.join(", ")}.`,
  severity: "error",
  from: { path: source(name) },
  to: {
    dependencyTypes: ["npm", "npm-dev", "npm-no-pkg", "npm-unknown"],
    pathNot: allowed.map((it) => `node_modules/${it}/`)
  }
})

/** The files that put a program together from its layers. */
const wiring = (name) => `^packages/${name}/src/(main|Program)\\.ts$`

const wiredOnlyIn = (name) => ({
  name: `${name}-wiring`,
  comment: `In packages/${name} only main.ts and Program.ts know the adapters; everything else knows ports.`,
  severity: "error",
  from: { path: source(name), pathNot: wiring(name) },
  to: { path: source("infra") }
})

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Two files that need each other are one, or there is a third in them.",
      severity: "error",
      from: {},
      to: { circular: true }
    },
    {
      name: "resolvable",
      comment: "Everything imported is there.",
      severity: "error",
      // What is measured beside Berth has packages of its own, and only while it is measured.
      from: { pathNot: "^bench/rivals/" },
      to: { couldNotResolve: true }
    },
    {
      name: "declared",
      comment: "Everything imported from outside stands in the importing package's own package.json.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown", "npm-dev"] }
    },
    {
      name: "programs-do-not-import-tests",
      comment: "What runs in production knows nothing of tests.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/" },
      to: { path: "(^test/|^bench/|^packages/[^/]+/test/)" }
    },
    {
      name: "domain-is-pure",
      comment: "The domain does no input or output itself, so it needs nothing that Node brings along.",
      severity: "error",
      from: { path: source("domain") },
      to: { dependencyTypes: ["core"] }
    },
    {
      name: "contexts-keep-their-repositories",
      comment: "A context never uses another context's repository, only its services.",
      severity: "error",
      from: { path: "^packages/domain/src/([^/]+)/" },
      to: { path: "^packages/domain/src/.*Repository\\.ts$", pathNot: "^packages/domain/src/$1/" }
    },
    only("domain", []),
    // decimal.js is arithmetic and nothing else: like effect, it does no input or output.
    onlyNpm("domain", ["effect", "decimal.js"]),
    only("api", ["domain"]),
    onlyNpm("api", ["effect", "@effect/platform"]),
    only("infra", ["domain", "api"]),
    only("server", ["domain", "api", "infra"]),
    wiredOnlyIn("server"),
    only("worker", ["domain", "api", "infra"]),
    wiredOnlyIn("worker"),
    only("runtime", ["domain", "api/src/runtime", "api/src/http/Sse"]),
    only("supervisor", [
      "infra/src/instance-drivers/process/OrphanedInstances",
      "infra/src/(configuration|embedded-postgres|files|process|net|telemetry)"
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
      extensions: [".ts", ".mjs", ".js", ".json", ".d.ts"]
    },
    skipAnalysisNotInRules: true
  }
}
