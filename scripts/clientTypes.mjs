// Writes the declarations of packages/client with those of the workspace that they refer to, and checks the package as a consumer.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

const root = fileURLToPath(new URL("..", import.meta.url))
const client = join(root, "packages/client")
const external = /^(?:effect|@effect\/platform)(?:\/|$)/
const specifiers = /((?:from |import\()")([^"]+)(")/g

const report = (diagnostics) => {
  if (diagnostics.length === 0) return
  console.error(
    ts.formatDiagnostics(diagnostics, {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => root,
      getNewLine: () => "\n"
    })
  )
  process.exit(1)
}

const baseOptions = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, "tsconfig.base.json"), ts.sys.readFile).config,
  ts.sys,
  root
).options

/** Declarations by module, such as `client/Client` for packages/client/src/Client.ts. */
const emitDeclarations = (entry) => {
  const declarations = new Map()
  const program = ts.createProgram([entry], {
    ...baseOptions,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    // By path: files of a package would be external and have no declarations.
    baseUrl: root,
    paths: { "@berth/api/*": ["packages/api/src/*"], "@berth/domain/*": ["packages/domain/src/*"] }
  })
  const { diagnostics } = program.emit(
    undefined,
    (file, text) =>
      declarations.set(
        file
          .replace(`${root}packages/`, "")
          .replace("/src/", "/")
          .replace(/\.d\.ts$/, ""),
        text
      ),
    undefined,
    true
  )
  return { declarations, diagnostics }
}

const findModule = (from, specifier) =>
  (specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : specifier.replace(/^@berth\//, "")).replace(
    /\.ts$/,
    ""
  )

const writeDeclarations = (entry) => {
  const { declarations, diagnostics } = emitDeclarations(join(client, "src/Client.ts"))
  const folder = join(client, "dist/types")
  rmSync(folder, { recursive: true, force: true })
  const pending = [entry]
  for (const name of pending) {
    const text = declarations.get(name)
    if (text === undefined) {
      report(diagnostics)
      throw new Error(`${name} has no declarations`)
    }
    const linked = text.replace(specifiers, (whole, before, specifier, after) => {
      if (external.test(specifier)) return whole
      const target = findModule(name, specifier)
      if (!pending.includes(target)) pending.push(target)
      const path = posix.relative(posix.dirname(name), target)
      return `${before}${path.startsWith(".") ? path : `./${path}`}.js${after}`
    })
    const file = join(folder, `${name}.d.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, linked)
  }
}

const consumer = `import { type AnswerFailed, makeClient, streamReply } from "@berth/client"
import { Effect, Redacted, type Stream } from "effect"

const access = { baseUrl: "https://berth.example", apiKey: Redacted.make("berth_key") }
export const names: Effect.Effect<ReadonlyArray<string>, unknown> = Effect.gen(function* () {
  const client = yield* makeClient(access)
  const { agents } = yield* client.agents.list()
  // @ts-expect-error: agents have no such member.
  agents.map(({ nothing }) => nothing)
  return agents.map(({ name }) => name)
})
export const found = Effect.flatMap(makeClient(access), (client) =>
  Effect.catchTag(client.agents.detail({ path: { id: "agt_1" as never } }), "AgentNotFound", () => Effect.succeed(null))
)
export const reply: Stream.Stream<unknown, AnswerFailed> = streamReply(access, { agentId: "agt_1", message: "Hello" })
`

/** Type-checks a program against the packed package, in a folder outside of the workspace. */
const checkPackage = () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "berth-client-")))
  try {
    const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    execFileSync("npx", ["--yes", packageManager, "pack", "--pack-destination", folder], {
      cwd: client,
      encoding: "utf8",
      stdio: "pipe"
    })
    const modules = join(folder, "node_modules")
    const installed = join(modules, "@berth/client")
    mkdirSync(installed, { recursive: true })
    mkdirSync(join(modules, "@effect"))
    const { name, version } = JSON.parse(readFileSync(join(client, "package.json"), "utf8"))
    const archive = `${name.slice(1).replace("/", "-")}-${version}.tgz`
    execFileSync("tar", ["-xzf", join(folder, archive), "-C", installed, "--strip-components", "1"])
    for (const dependency of ["effect", "@effect/platform"])
      symlinkSync(realpathSync(join(client, "node_modules", dependency)), join(modules, dependency))
    const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
    const unpublished = Object.keys(dependencies).filter((dependency) => !external.test(dependency))
    if (unpublished.length > 0)
      throw new Error(`The package depends on ${unpublished.join(", ")}, which is not published`)
    const program = join(folder, "consumer.ts")
    writeFileSync(program, consumer)
    report(
      ts.getPreEmitDiagnostics(
        ts.createProgram([program], { ...baseOptions, noEmit: true, types: [], noUnusedLocals: false })
      )
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

writeDeclarations("client/Client")
checkPackage()
