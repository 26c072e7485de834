import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import * as App from "../support/TestApp.ts"

const spectralPackage = "@stoplight/spectral-cli@6.16.3"

const redocly = join(dirname(createRequire(import.meta.url).resolve("@redocly/cli/package.json")), "bin", "cli.js")

/** The specification's path for the deletion of agents is ambiguous with every `/api/agents/{id}/<name>`. */
const ambiguousPath = "/api/agents/provision/{id}"

const RedoclyReport = Schema.parseJson(
  Schema.Struct({
    problems: Schema.Array(
      Schema.Struct({
        ruleId: Schema.String,
        message: Schema.String,
        location: Schema.Array(Schema.Struct({ pointer: Schema.optional(Schema.String) }))
      })
    )
  })
)

const writeDocument = (listener: "web" | "backend") =>
  Effect.gen(function* () {
    const app = yield* App.TestApp
    const { text } = yield* app[listener]({ method: "GET", path: "/openapi.json" })
    const directory = yield* temporaryDirectory
    yield* Effect.promise(() => writeFile(join(directory, "openapi.json"), text))
    return directory
  })

/** The standard output of a linter; its exit code is ignored. */
const runLinter = (directory: string, command: string, args: ReadonlyArray<string>) =>
  Effect.async<string>((resume) => {
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    const child = execFile(command, args, { cwd: directory, env, maxBuffer: 64 * 1024 * 1024 }, (_, stdout) =>
      resume(Effect.succeed(stdout))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

layer(App.shared, { excludeTestServices: true, timeout: "120 seconds" })("The OpenAPI documents", (it) => {
  for (const listener of ["web", "backend"] as const) {
    it.scoped(
      `Redocly's recommended rules find no error and no warning in the OpenAPI document of the ${listener} listener`,
      () =>
        Effect.gen(function* () {
          const directory = yield* writeDocument(listener)
          const args = [
            redocly,
            "lint",
            "--extends=recommended",
            "--format=json",
            "--max-problems=1000",
            "openapi.json"
          ]
          const report = yield* runLinter(directory, process.execPath, args)
          const { problems } = yield* Schema.decode(RedoclyReport)(report)
          const found = problems.filter(
            ({ message, ruleId }) => !(ruleId === "no-ambiguous-paths" && message.includes(`\`${ambiguousPath}\``))
          )
          assert.deepStrictEqual(found, [])
        })
    )

    // Its 204 packages are too many for every run.
    if (process.env["TEST_OPENAPI"] === "spectral")
      it.scoped(
        `Spectral's OpenAPI rules find no error and no warning in the OpenAPI document of the ${listener} listener`,
        () =>
          Effect.gen(function* () {
            const directory = yield* writeDocument(listener)
            const ruleset = JSON.stringify({ extends: ["spectral:oas"] })
            yield* Effect.promise(() => writeFile(join(directory, "ruleset.json"), ruleset))
            const lint = ["lint", "-r", "ruleset.json", "-f", "json", "-q", "openapi.json"]
            const report = yield* runLinter(directory, "npx", ["--yes", spectralPackage, ...lint])
            assert.deepStrictEqual(JSON.parse(report), [])
          })
      )
  }
})
