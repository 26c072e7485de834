import variant from "@jitl/quickjs-singlefile-mjs-release-sync"
import type { RuntimeSkill } from "@berth/domain/instances/AgentRuntime"
import type { SkillCode, SkillTool } from "@berth/domain/skills/SkillCode"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { toArgumentsSchema } from "@berth/domain/skills/tools/ToolArguments"
import { Duration, Effect, Either, Schema } from "effect"
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSWASMModule
} from "quickjs-emscripten-core"
import { posix } from "node:path"
import { runInNewContext } from "node:vm"
import type { AgentTool } from "./Toolbox.ts"

declare global {
  // Missing in the types of Node.js.
  namespace WebAssembly {
    interface Memory {
      readonly buffer: ArrayBuffer
    }
    const Memory: new (pages: { readonly initial: number; readonly maximum: number }) => Memory
  }
}

/** Maximum processor time of a script, which blocks the runtime. */
const timeLimit = Duration.seconds(2)
/** Limit for native functions of the engine, which are otherwise uninterruptible; longer, for busy machines. */
const watchdogLimit = Duration.seconds(6)
/** Pages of 64 KiB: 32 MiB, half of which the engine takes at its start. */
const memoryPages = 512
const stackBytes = 256 * 1024
/** Maximum characters of a result. */
const maximumOutput = 100_000

/** Module that calls the script; no path of a skill contains a colon. */
const mainModule = "berth:main"
const makeMainModule = (script: string, input: string) => `
import run from ${JSON.stringify(`./${script}`)}
const result = await run(JSON.parse(${JSON.stringify(input)}))
export const output = typeof result === "string" ? result : JSON.stringify(result) ?? ""`

const resolve = (base: string, requested: string) =>
  requested.startsWith(".") ? posix.join(base === mainModule ? "" : posix.dirname(base), requested) : requested

const readModule = ({ files }: SkillCode, path: string) => {
  const content = Object.hasOwn(files, path) ? files[path] : undefined
  if (content === undefined) return { error: new Error(`${path} is not in the skill's folder`) }
  const text = Buffer.from(content, "base64").toString("utf8")
  return path.endsWith(".json") ? `export default ${text}` : text
}

const decodeThrown = Schema.decodeUnknownEither(Schema.Struct({ message: Schema.String }))
const describe = (thrown: unknown) =>
  Either.match(decodeThrown(thrown), { onLeft: () => String(thrown), onRight: ({ message }) => message }).slice(0, 1000)

/** Result of a script, or the reason for its failure. */
const Outcome = Schema.EitherFromSelf({ left: Schema.String, right: Schema.String })
const decodeOutcome = Schema.decodeUnknownSync(Outcome)

/** Evaluates the main module and returns its output after all promises. */
const evaluate = (context: QuickJSContext, source: string) => {
  const evaluated = context.evalCode(source, mainModule, { type: "module" })
  if (evaluated.error !== undefined) return Either.left(describe(context.dump(evaluated.error)))
  const jobs = context.runtime.executePendingJobs()
  if (jobs.error !== undefined) return Either.left(describe(context.dump(jobs.error)))
  const state = context.getPromiseState(evaluated.value)
  if (state.type === "pending") return Either.left("It waits for something that does not happen.")
  if (state.type === "rejected") return Either.left(describe(context.dump(state.error)))
  return Either.right(context.getString(context.getProp(state.value, "output")).slice(0, maximumOutput))
}

const readProcessorMillis = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

/** `node:vm` as a watchdog, which ends long calls of the engine's native functions. */
const execute = (engine: QuickJSWASMModule, code: SkillCode, source: string): unknown => {
  const runtime = engine.newRuntime()
  const end = readProcessorMillis() + Duration.toMillis(timeLimit)
  const isOver = () => readProcessorMillis() > end
  runtime.setInterruptHandler(isOver)
  runtime.setMaxStackSize(stackBytes)
  runtime.setModuleLoader((path) => readModule(code, path), resolve)
  const evaluateMain = () => {
    const outcome = evaluate(runtime.newContext(), source)
    return Either.isLeft(outcome) && isOver()
      ? Either.left(`It used ${Duration.format(timeLimit)} of processor time.`)
      : outcome
  }
  return runInNewContext("evaluateMain()", { evaluateMain }, { timeout: Duration.toMillis(watchdogLimit) })
}

/** Runs a script in a separate engine, whose memory is freed afterwards: no files, network, environment or timers. */
export const runScript = Effect.fn("SkillScripts.run")(function* (code: SkillCode, tool: SkillTool, input: string) {
  const memory = new WebAssembly.Memory({ initial: memoryPages / 2, maximum: memoryPages })
  const engine = yield* Effect.promise(() =>
    newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory: memory }))
  )
  const outcome = yield* Effect.try({
    try: () => decodeOutcome(execute(engine, code, makeMainModule(tool.script, input))),
    catch: (fault) => new Tool.ToolFailed({ reason: `The script failed: ${describe(fault)}` })
  })
  if (outcome._tag === "Right") return outcome.right
  return yield* new Tool.ToolFailed({ reason: `The script failed: ${outcome.left}` })
})

export const makeSkillTools = ({ code }: RuntimeSkill): ReadonlyArray<AgentTool> =>
  code === undefined
    ? []
    : code.tools.map((tool) =>
        Tool.make({
          name: tool.name,
          description: tool.description,
          parameters: toArgumentsSchema(tool.parameters),
          run: (args) => runScript(code, tool, JSON.stringify(args))
        })
      )
