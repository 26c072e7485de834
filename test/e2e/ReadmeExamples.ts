import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { makeShellEnvironment, root } from "./BerthProcess.ts"
import { FirstStart, type FirstStartPart } from "./FirstStart.ts"

const readme = readFileSync(join(root, "README.md"), "utf8")
const example = readFileSync(join(root, "packages/domain/test/gating/TokenGate.test.ts"), "utf8")

const codeBlocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, code = ""]) => code)

/** Prints "<expected status> <status> <method> <URL>" for each call. A comment names the expected status, by default 200. */
const prelude = `set -euo pipefail
curl() { command curl "$@" --max-time 30 --write-out "%{stderr}CALL $expected %{http_code} %{method} %{url}\\n%{stdout}\\n"; }`

const setExpectedStatus = (code: string) =>
  code.replaceAll(/^#.*$/gm, (comment) => `expected=${/\((\d{3})\)/.exec(comment)?.[1] ?? "200"}`)

const runShell = (script: string, directory: string) =>
  Effect.async<{ readonly error: string; readonly stdout: string; readonly stderr: string }>((resume) => {
    const child = execFile(
      "bash",
      ["-c", script],
      { cwd: directory, env: makeShellEnvironment(), timeout: 120_000 },
      (error, stdout, stderr) => resume(Effect.succeed({ error: error?.message ?? "", stdout, stderr }))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

export const readmeExamples: FirstStartPart = (it) => {
  it.effect(
    "README.md: every curl command works in order and returns the status that its comment names",
    Effect.fn(function* () {
      const { place, webUrl } = yield* FirstStart
      const commands = codeBlocks("sh")
        .filter((code) => code.includes("http://localhost:3000"))
        .map(setExpectedStatus)
        .join("\n")
        .replaceAll("http://localhost:3000", webUrl)
        .replaceAll(".data/", `${place.dataDirectory}/`)
      const { error, stderr, stdout } = yield* runShell(`${prelude}\n${commands}`, dirname(place.dataDirectory))

      const calls = [...stderr.matchAll(/CALL (\d+) (\d+) (.*)/g)].map(([, expected, status, call]) => ({
        call,
        expected,
        status
      }))
      for (const { call, expected, status } of calls) assert.strictEqual(status, expected, call)
      assert.strictEqual(error, "", stderr)
      assert.isAtLeast(calls.length, 30)
      for (const text of ["Your name is Ada.", "391.1", "Rex", "Confirm"]) assert.include(stdout, text)
    })
  )

  it("README.md: the example of a replaced Layer is a test", () => {
    const [code = ""] = codeBlocks("ts")
    assert.include(example, code.trim().replaceAll(/^(?=.)/gm, "  "))
  })
}
