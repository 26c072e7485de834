import type { ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { sanitizeToolResult, maximumToolResultLength, runTool } from "@berth/domain/skills/tools/ToolExecution"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { expect, it } from "@effect/vitest"
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

/** What a call comes to, and the log of it. */
const use = (name: string, args: string) =>
  Effect.gen(function* () {
    const lines: Array<unknown> = []
    const logger = Logger.map(Logger.structuredLogger, (line) => lines.push(line))
    const call: ToolCall = { id: "call_1", name, arguments: args }
    const message = yield* Effect.provide(runTool(tools, null, call), Logger.replace(Logger.defaultLogger, logger))
    expect(message).toMatchObject({ role: "tool", toolCallId: "call_1", toolName: name })
    return { content: message.content, log: JSON.stringify(lines) }
  })

it("tells a model of a tool in plain JSON Schema", () => {
  expect(tools[0]?.spec).toStrictEqual({
    name: "shout",
    description: "Does shout.",
    parameters: {
      type: "object",
      properties: {
        text: { type: "string", description: "What to do it to." },
        offset: {
          type: "integer",
          minimum: 0,
          description: "Where to go on in a long text, as the end of the part before says. Default: 0."
        }
      },
      required: ["text"]
    }
  })
})

it.effect("answers with what the tool gives, and logs nothing of what it was about", () =>
  Effect.gen(function* () {
    const { content, log } = yield* use("shout", `{"text":"private"}`)
    expect(content).toBe("PRIVATE")
    expect(log).toContain(`"durationMs":0,"outcome":"ok","tool":"shout"`)
    expect(log.toLowerCase()).not.toContain("private")
  })
)

it.effect("makes an answer of whatever goes wrong", () =>
  Effect.gen(function* () {
    const wrong = (args: string) => Effect.map(use("shout", args), ({ content }) => content)
    expect(yield* wrong("{")).toContain("not valid JSON")
    expect(yield* wrong("")).toBe("The arguments are wrong: text is missing.")
    expect(yield* wrong("[]")).toContain("The arguments are wrong")
    expect(yield* wrong("null")).toContain("The arguments are wrong")
    expect(yield* wrong(`{"text":3,"offset":-1}`)).toMatch(/text: .*; offset: /)

    const refused = yield* use("refuse", `{"text":"private"}`)
    expect(refused.content).toBe("I would rather not.")
    expect(refused.log).toContain(`"outcome":"refused"`)

    const broken = yield* use("break", `{"text":"word"}`)
    expect(broken.content).toContain("failed for a reason of its own")
    expect(broken.log).toContain(`"outcome":"broken"`)
    expect(broken.log).not.toContain("private")

    const unknown = yield* use("private_name", "{}")
    expect(unknown.content).toContain("no tool of that name. Your tools are: shout, refuse")
    expect(unknown.log).toContain(`"tool":"unknown"`)
    expect(unknown.log).not.toContain("private")
  })
)

it.effect("does not wait for a tool that hangs, even one that cannot be interrupted", () =>
  Effect.gen(function* () {
    const hanging = yield* Effect.forkDaemon(use("hang", `{"text":""}`))
    yield* TestClock.adjust("9 seconds")
    expect(yield* Fiber.poll(hanging)).toMatchObject({ _tag: "None" })
    yield* TestClock.adjust("1 second")
    const { content, log } = yield* Fiber.join(hanging)
    expect(content).toBe("The tool did not answer within 10s.")
    expect(log).toContain(`"durationMs":10000,"outcome":"timeout","tool":"hang"`)
  })
)

it.effect("cuts long results off, and says so", () =>
  Effect.gen(function* () {
    const { content } = yield* use("flood", `{"text":""}`)
    expect(content.length).toBe(maximumToolResultLength)
    expect(content).toMatch(/cut off: the result was too long\.\]$/)
    expect((yield* use("shout", `{"text":" "}`)).content).toBe("(nothing)")
  })
)

it.prop(
  "gives nothing that cannot be sent or stored",
  [FastCheck.string({ unit: "binary", maxLength: 50 })],
  ([text]) => {
    const given = sanitizeToolResult(`${text}\u0000\ud800${"x".repeat(maximumToolResultLength - 60)}😀`)
    expect(given.isWellFormed()).toBe(true)
    expect(given).not.toContain("\u0000")
    expect(given.length).toBeLessThanOrEqual(maximumToolResultLength)
  }
)
