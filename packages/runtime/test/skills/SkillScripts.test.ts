import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runScript } from "../../src/skills/SkillScripts.ts"

const files = {
  "report.mjs": `
    import { prefix } from "./lib/prefix.mjs"
    import settings from "./settings.json"
    export default async ({ word }) => ({ word: prefix + word + settings.end, names: Object.keys(globalThis) })`,
  "lib/prefix.mjs": `import "../settings.json"; export const prefix = "my "`,
  "settings.json": '{"end": "!"}',
  "globals.mjs": `
    export default () => ["process", "require", "fetch", "setTimeout", "WebSocket", "Deno", "std", "os"]
      .filter((name) => name in globalThis)`,
  "leaving.mjs": 'export { default } from "../../../etc/passwd"',
  "node.mjs": 'export { default } from "node:fs"',
  "dynamic.mjs": 'export default () => import("node:child_process")',
  "constructor.mjs": `export default () => (() => {}).constructor("return typeof process + typeof require")()`,
  "failing.mjs": 'export default () => { throw new Error("no such city") }',
  "strange.mjs": "export default () => { throw 7 }",
  "endless.mjs": "export default () => { for (;;); }",
  "native.mjs": "export default () => { const all = []; all.length = 4e9; return all.sort().length }",
  "waiting.mjs": "export default () => new Promise(() => {})",
  "large.mjs": 'export default () => { const all = []; for (;;) all.push("x".repeat(1e6) + all.length) }',
  "deep.mjs": "const call = () => call() + 1; export default call",
  "long.mjs": 'export default () => "x".repeat(200_000)',
  "leaving-behind.mjs": "export default () => { globalThis.count = (globalThis.count ?? 0) + 1; return count }",
  "nothing.mjs": "export default () => {}"
}
const encoded = Object.fromEntries(
  Object.entries(files).map(([path, text]) => [path, Buffer.from(text).toString("base64")])
)

const run = (script: string, input: unknown = {}) => {
  const parameters = { type: "object", properties: {} } as const
  const tool = { name: "report", description: "Reports", parameters, script }
  return runScript({ tools: [tool], files: encoded }, tool, JSON.stringify(input))
}

const watchdog = /timed out after 6000ms/

/** Scripts that compute until a limit ends them. */
const busy = new Set(["endless.mjs", "large.mjs", "deep.mjs"])

const failures: ReadonlyArray<readonly [script: string, reason: RegExp]> = [
  ["leaving.mjs", /etc\/passwd is not in the skill's folder/],
  ["node.mjs", /node:fs is not in the skill's folder/],
  ["dynamic.mjs", /node:child_process is not in the skill's folder/],
  ["failing.mjs", /^The script failed: no such city$/],
  ["strange.mjs", /^The script failed: 7$/],
  ["endless.mjs", /used 2s of processor time/],
  ["native.mjs", watchdog],
  ["waiting.mjs", /waits for something/],
  ["large.mjs", /out of memory/],
  ["deep.mjs", /stack|out of memory/i]
]

describe("runScript", () => {
  it.live("runScript gives a script its arguments and the modules of its folder, and nothing else", () =>
    Effect.gen(function* () {
      const report = yield* run("report.mjs", { word: '"word" ${x}\n\u2028' })
      assert.deepStrictEqual(JSON.parse(report), { word: 'my "word" ${x}\n\u2028!', names: [] })
      assert.strictEqual(yield* run("globals.mjs"), "[]")
      assert.strictEqual(yield* run("constructor.mjs"), "undefinedundefined")
      assert.strictEqual(yield* run("nothing.mjs"), "")
    })
  )

  it.live("runScript reads a part of a long result, and keeps nothing from one run to the next", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run("long.mjs")).length, 100_000)
      assert.deepStrictEqual(yield* Effect.replicateEffect(run("leaving-behind.mjs"), 2), ["1", "1"])
    })
  )

  for (const [script, reason] of failures)
    it.live(`runScript reports why ${script} failed`, () =>
      Effect.gen(function* () {
        const before = process.cpuUsage()
        const failure = yield* Effect.flip(run(script))
        const { system, user } = process.cpuUsage(before)
        // On a loaded machine the watchdog also ends a script that has used less processor time than a script may.
        const isStarved = busy.has(script) && system + user < 2_000_000 && watchdog.test(failure.reason)
        if (!isStarved) assert.match(failure.reason, reason)
      })
    )
})
