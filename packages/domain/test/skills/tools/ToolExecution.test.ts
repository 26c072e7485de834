import type { ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { sanitizeToolResult, maximumToolResultLength, runTool } from "@berth/domain/skills/tools/ToolExecution"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { assert, it } from "@effect/vitest"
import { Effect, FastCheck, Fiber, Logger, Schema, TestClock } from "effect"

const tool = (name: string, run: (text: string) => Effect.Effect<string, Tool.ToolFailed>) =>
  Tool.make({
    name,
    description: `Does ${name}.`,
    parameters: Schema.Struct({
      text: Schema.String.annotations({ description: "What to do it to." }),
      offset: Tool.Offset
    }),
    run: ({ text }) => run(text)
  })

const tools = [
  tool("shout", (text) => Effect.succeed(text.toUpperCase())),
  tool("refuse", () => new Tool.ToolFailed({ reason: "I would rather not." })),
  tool("break", (text) => Effect.dieMessage(`private: ${text}`)),
  tool("hang", () => Effect.uninterruptible(Effect.never)),
  tool("flood", () => Effect.succeed("x".repeat(1_000_000)))
]

const use = (name: string, args: string) =>
  Effect.gen(function* () {
    const lines: Array<unknown> = []
    const logger = Logger.map(Logger.structuredLogger, (line) => lines.push(line))
    const call: ToolCall = { id: "call_1", name, arguments: args }
    const { message } = yield* Effect.provide(runTool(tools, null, call), Logger.replace(Logger.defaultLogger, logger))
    assert.containSubset(message, { role: "tool", toolCallId: "call_1", toolName: name })
    return { content: message.content, log: JSON.stringify(lines) }
  })

it("ToolExecution describes a tool without arguments as an object without members", () => {
  const { spec } = Tool.make({
    name: "now",
    description: "",
    parameters: Schema.Struct({}),
    run: () => Effect.succeed("")
  })
  assert.deepStrictEqual(spec.parameters, { type: "object", properties: {}, required: [] })
})

it("ToolExecution describes a tool in plain JSON Schema", () => {
  assert.deepStrictEqual(tools[0]?.spec, {
    name: "shout",
    description: "Does shout.",
    parameters: {
      type: "object",
      properties: {
        text: { type: "string", description: "What to do it to." },
        offset: {
          type: "integer",
          minimum: 0,
          description: "Where to continue in a long text, as given at the end of the previous part. Default: 0."
        }
      },
      required: ["text"]
    }
  })
})

it.effect("ToolExecution returns the tool's result and logs no arguments or results", () =>
  Effect.gen(function* () {
    const { content, log } = yield* use("shout", `{"text":"private"}`)
    assert.strictEqual(content, "PRIVATE")
    assert.include(log, `"durationMs":0,"outcome":"ok","tool":"shout"`)
    assert.notInclude(log.toLowerCase(), "private")
  })
)

it.effect("ToolExecution returns every failure as a result", () =>
  Effect.gen(function* () {
    const wrong = (args: string) => Effect.map(use("shout", args), ({ content }) => content)
    assert.include(yield* wrong("{"), "not valid JSON")
    assert.strictEqual(yield* wrong(""), "The arguments are wrong: text is missing.")
    assert.include(yield* wrong("[]"), "The arguments are wrong")
    assert.include(yield* wrong("null"), "The arguments are wrong")
    assert.match(yield* wrong(`{"text":3,"offset":-1}`), /text: .*; offset: /)

    const refused = yield* use("refuse", `{"text":"private"}`)
    assert.strictEqual(refused.content, "I would rather not.")
    assert.include(refused.log, `"outcome":"refused"`)

    const broken = yield* use("break", `{"text":"word"}`)
    assert.include(broken.content, "failed for a reason of its own")
    assert.include(broken.log, `"outcome":"broken"`)
    assert.notInclude(broken.log, "private")

    const unknown = yield* use("private_name", "{}")
    assert.include(unknown.content, "no tool of that name. Your tools are: shout, refuse")
    assert.include(unknown.log, `"tool":"unknown"`)
    assert.notInclude(unknown.log, "private")
  })
)

it.effect("ToolExecution does not wait for a tool that hangs, even an uninterruptible one", () =>
  Effect.gen(function* () {
    const hanging = yield* Effect.forkDaemon(use("hang", `{"text":""}`))
    yield* TestClock.adjust("9 seconds")
    assert.containSubset(yield* Fiber.poll(hanging), { _tag: "None" })
    yield* TestClock.adjust("1 second")
    const { content, log } = yield* Fiber.join(hanging)
    assert.strictEqual(content, "The tool did not answer within 10s.")
    assert.include(log, `"durationMs":10000,"outcome":"timeout","tool":"hang"`)
  })
)

it.effect("ToolExecution truncates long results and marks that", () =>
  Effect.gen(function* () {
    const { content } = yield* use("flood", `{"text":""}`)
    assert.strictEqual(content.length, maximumToolResultLength)
    assert.match(content, /cut off: the result was too long\.\]$/)
    assert.strictEqual((yield* use("shout", `{"text":" "}`)).content, "(nothing)")
  })
)

it.prop(
  "ToolExecution removes characters that cannot be sent or stored",
  [FastCheck.string({ unit: "binary", maxLength: 50 })],
  ([text]) => {
    const sanitized = sanitizeToolResult(`${text}\u0000\ud800${"x".repeat(maximumToolResultLength - 60)}😀`)
    assert.isTrue(sanitized.isWellFormed())
    assert.notInclude(sanitized, "\u0000")
    assert.isAtMost(sanitized.length, maximumToolResultLength)
  }
)
