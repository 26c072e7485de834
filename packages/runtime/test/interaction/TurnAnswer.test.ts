import type { RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { estimateMessagesTokens } from "@berth/domain/ai/prompt/PromptBudget"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { maximumReplyLength } from "@berth/domain/skills/tools/ToolRounds"
import { type ModelAnswer, ModelCallFailed, ModelClient } from "@berth/runtime/ai/ModelClient"
import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import { answerTurn } from "@berth/runtime/interaction/TurnAnswer"
import { type AgentTool, Toolbox, type TurnAgent } from "@berth/runtime/skills/Toolbox"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Fiber, Layer, Logger, Schema, Stream, TestClock } from "effect"
import { McpBackend } from "@berth/runtime/skills/BackendCalls"
import { fakeModels, noMcpServers, sampleAgent } from "../AgentSamples.ts"
import { assertMatches } from "../../../../test/support/Matching.ts"
import { sampleTurn } from "../../../../test/support/SampleTurn.ts"

const delta = (text: string): Extract<ModelAnswer, { type: "delta" }> => ({ type: "delta", text })
const call = (name: string, args: unknown, id = `call_${name}`): ModelAnswer => ({
  type: "tool-call",
  call: { id, name, arguments: typeof args === "string" ? args : JSON.stringify(args) }
})
const done: ModelAnswer = { type: "done", model: "real", provider: "p" }

type Script = (request: RuntimeModelRequest, at: number) => ReadonlyArray<ModelAnswer> | ModelCallFailed

const text = Schema.Struct({ text: Schema.String.annotations({ description: "What." }) })
const running = { now: 0, most: 0 }
const counted = <A, E>(work: Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      running.now += 1
      running.most = Math.max(running.most, running.now)
    }),
    () => work,
    () => Effect.sync(() => (running.now -= 1))
  )
const tools = [
  Tool.make({
    name: "shout",
    description: "Shouts.",
    parameters: text,
    run: ({ text }) => counted(Effect.as(Effect.yieldNow(), text.toUpperCase()))
  }),
  Tool.make({
    name: "flood",
    description: "Floods.",
    parameters: text,
    run: () => Effect.succeed("x".repeat(100_000))
  }),
  Tool.make({ name: "hang", description: "Hangs.", parameters: text, run: () => Effect.never })
]

const skill = {
  id: "voice",
  description: "Uses a voice.",
  instructions: "Shout.",
  tools: ["shout", "flood", "hang", "none"]
}
const skilled: RuntimeAgent = { ...sampleAgent, skills: [skill] }

const answer = (agent: RuntimeAgent, turn: Turn) => streamFromOpened(answerTurn(agent, turn))

/** The events of a turn, the reason of its failure, and the model requests. */
const ask = (
  script: Script,
  agent: RuntimeAgent = skilled,
  changes: Partial<Turn> = {},
  toolbox: ReadonlyArray<AgentTool> = tools,
  mcpServers: Layer.Layer<McpBackend> = noMcpServers
) =>
  Effect.gen(function* () {
    const requests: Array<RuntimeModelRequest> = []
    const models = fakeModels((request) => {
      requests.push(request)
      const answers = script(request, requests.length - 1)
      return answers instanceof ModelCallFailed ? Stream.fail(answers) : Stream.fromIterable(answers)
    })
    const events: Array<TurnEvent | string> = Chunk.toArray(
      yield* answer(agent, { ...sampleTurn, ...changes }).pipe(
        Stream.provideService(ModelClient, models),
        Stream.catchAll(({ reason }) => Stream.make(reason)),
        Stream.runCollect
      )
    )
    const reply = events.flatMap((event) => (typeof event === "object" && event.type === "done" ? [event.reply] : []))
    return { events, requests, reply: reply[0] }
  }).pipe(
    Effect.provide([Layer.succeed(Toolbox, toolbox), mcpServers]),
    Effect.provide(Logger.remove(Logger.defaultLogger))
  )

it.effect("An invocation runs one of the agent's tools without a model, and its failure fails the turn", () =>
  Effect.gen(function* () {
    const noModel: Script = () => new ModelCallFailed({ reason: "no model may be asked" })
    const invoke = (tool: string, args: Readonly<Record<string, unknown>>, agent = skilled) =>
      ask(noModel, agent, { invocation: { tool, arguments: args } })
    const { events, requests } = yield* invoke("shout", { text: "hello" })
    assert.deepStrictEqual(events, [{ type: "done", reply: "HELLO", model: sampleAgent.model }])
    assert.deepStrictEqual(requests, [])
    const reasons = yield* Effect.forEach(
      [invoke("shout", {}), invoke("none", {}), invoke("shout", { text: "x" }, { ...skilled, skills: [] })],
      Effect.map(({ events: [failure] }) => failure)
    )
    assert.deepStrictEqual(reasons, [
      "The arguments are wrong: text is missing.",
      "The agent has no tool none.",
      "The agent has no tool shout."
    ])
  })
)

it.effect("TurnAnswer offers the tools of the agent's skills, and no others", () =>
  Effect.gen(function* () {
    const { requests } = yield* ask(() => [delta("hi"), done])
    assert.deepStrictEqual(
      requests[0]?.tools.map(({ name }) => name),
      ["shout", "flood", "hang"]
    )
    assert.include(requests[0]?.messages[0]?.content, "- voice: Uses a voice.")
    assert.deepStrictEqual((yield* ask(() => [done], sampleAgent)).requests[0]?.tools, [])
    const wordy = { ...skilled, skills: [{ ...skill, instructions: "Shout. ".repeat(1_000) }] }
    const read = yield* ask((_, at) => (at === 0 ? [call("read_skill", { skill: "voice" }), done] : [done]), wordy)
    assert.deepStrictEqual(
      read.requests[0]?.tools.map(({ name }) => name),
      ["read_skill", "shout", "flood", "hang"]
    )
    assert.include(read.requests[1]?.messages.at(-1)?.content, "Shout. Shout.")
    // An agent cannot use tools that it does not have.
    const other = yield* ask((_, at) => (at === 0 ? [call("shout", { text: "a" }), done] : [done]), sampleAgent)
    assert.include(other.requests[1]?.messages.at(-1)?.content, "no tool of that name")
  })
)

it.effect(
  "TurnAnswer offers people of a channel no tools with the owner's data, but to search their conversation",
  () =>
    Effect.gen(function* () {
      const callIds: Array<string> = []
      const make = (name: string) =>
        Tool.make({
          name,
          description: "Uses data.",
          parameters: text,
          run: (_, { messageId }: TurnAgent) => Effect.sync(() => `${name} in ${callIds[callIds.push(messageId) - 1]}`)
        })
      const ofFiles = ["list_files", "read_file", "write_file", "delete_file"]
      const data = ["remember", "recall", ...ofFiles].map(make)
      const agent: RuntimeAgent = {
        ...sampleAgent,
        skills: [
          { ...skill, id: "memory", tools: ["remember", "recall"] },
          { ...skill, id: "files", tools: ofFiles },
          { ...skill, id: "manners", tools: [] }
        ]
      }
      const useAll: Script = (_, at) =>
        at === 0 ? [...data.map(({ spec }) => call(spec.name, { text: "a" })), done] : [done]
      const ofOwner = yield* ask(useAll, agent, {}, data)
      assert.lengthOf(ofOwner.requests[0]?.tools ?? [], data.length)
      assert.deepStrictEqual(callIds.splice(0), Array(data.length).fill("msg_1"))
      const { requests } = yield* ask(useAll, agent, { fromOwner: false }, data)
      assert.deepStrictEqual(
        requests[0]?.tools.map(({ name }) => name),
        ["recall"]
      )
      assert.deepStrictEqual(callIds, ["msg_1"])
      const system = requests[0]?.messages[0]?.content
      for (const id of ["- memory:", "- manners:"]) assert.include(system, id)
      assert.notInclude(system, "- files:")
    })
)

const connected: RuntimeAgent = { ...skilled, hasMcpServers: true }
const echo = { description: "Echoes.", parameters: { type: "object", properties: {} } }
/** A server with the tool `notes__echo`, and one with the name of the agent's own tool `shout`. */
const listed = JSON.stringify([
  { server: "notes", tool: "echo", spec: { name: "notes__echo", ...echo } },
  { server: "notes", tool: "shout", spec: { name: "shout", ...echo } }
])

it.effect("TurnAnswer offers tools of MCP servers beside the agent's own, and their errors are results", () =>
  Effect.gen(function* () {
    const calls: Array<unknown> = []
    const server = Layer.succeed(McpBackend, ({ id, messageId }, serverCall) => {
      if (serverCall.action === "list") return Effect.succeed(listed)
      calls.push({ id, messageId, ...serverCall })
      return serverCall.arguments["text"] === "fail"
        ? new Tool.ToolFailed({ reason: "It answered with status 500." })
        : Effect.succeed(`Echo: ${String(serverCall.arguments["text"])}`)
    })
    const script: Script = (_, at) =>
      at === 0
        ? [
            call("notes__echo", { text: "hi" }, "1"),
            call("notes__echo", { text: "fail" }, "2"),
            call("notes__echo", "[1]", "3"),
            call("shout", { text: "own" }, "4"),
            done
          ]
        : [delta("fine"), done]
    const { reply, requests } = yield* ask(script, connected, {}, tools, server)
    assert.strictEqual(reply, "fine")
    assert.deepStrictEqual(
      requests[0]?.tools.map(({ name }) => name),
      ["shout", "flood", "hang", "notes__echo"]
    )
    const results = (requests[1]?.messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => content)
    assert.deepStrictEqual([results[0], results[1], results[3]], ["Echo: hi", "It answered with status 500.", "OWN"])
    assert.match(results[2] ?? "", /^The arguments are wrong/)
    const called = { id: "agt_1", messageId: "msg_1", action: "call", server: "notes", tool: "echo" }
    assert.deepStrictEqual(calls, [
      { ...called, arguments: { text: "hi" } },
      { ...called, arguments: { text: "fail" } }
    ])
  })
)

it.effect("TurnAnswer answers without MCP servers that cannot be listed, and does not use them for others", () =>
  Effect.gen(function* () {
    const script: Script = () => [delta("fine"), done]
    for (const answer of [new Tool.ToolFailed({ reason: "away" }), Effect.succeed("nothing")]) {
      const away = Layer.succeed(McpBackend, () => answer)
      const { reply, requests } = yield* ask(script, connected, {}, tools, away)
      assert.strictEqual(reply, "fine")
      assert.lengthOf(requests[0]?.tools ?? [], 3)
    }
    assert.strictEqual((yield* ask(script, connected, { fromOwner: false })).reply, "fine")
  })
)

it.effect("TurnAnswer runs the model's tool calls, returns results in order, and joins all text", () =>
  Effect.gen(function* () {
    const { events, requests } = yield* ask((_, at) =>
      at === 0
        ? [delta("Let me "), delta("see."), call("shout", { text: "a" }, "c1"), call("shout", "{", "c2"), done]
        : [delta("It is "), delta("A."), done]
    )
    assert.deepStrictEqual(events, [
      delta("Let me "),
      delta("see."),
      delta("\n\n"),
      delta("It is "),
      delta("A."),
      { type: "done", reply: "Let me see.\n\nIt is A.", model: "real", provider: "p" }
    ])
    assert.deepStrictEqual(requests[1]?.messages.slice(-4), [
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: "Let me see.",
        toolCalls: [
          { id: "c1", name: "shout", arguments: `{"text":"a"}` },
          { id: "c2", name: "shout", arguments: "{" }
        ]
      },
      { role: "tool", content: "A", toolCallId: "c1", toolName: "shout" },
      {
        role: "tool",
        content: "The arguments are not valid JSON. Call again with a JSON object.",
        toolCallId: "c2",
        toolName: "shout"
      }
    ])
    assert.isTrue(requests.every(({ messageId }) => messageId === "msg_1"))
  })
)

it.effect("TurnAnswer ends with an answer although the model always calls tools", () =>
  Effect.gen(function* () {
    const { events, reply, requests } = yield* ask((_, at) => [delta(`${at}`), call("shout", { text: "again" }), done])
    assert.strictEqual(requests.length, 9)
    assert.isTrue(requests.slice(0, 8).every(({ tools }) => tools.length === 3))
    const last = requests[8]
    assert.deepStrictEqual(last?.tools, [])
    assert.isFalse(last?.messages.some(({ role }) => role === "tool"))
    assert.isFalse(last?.messages.some((message) => "toolCalls" in message))
    assert.strictEqual(last?.messages.filter(({ content }) => content === "Result of shout:\nAGAIN").length, 8)
    assert.include(last?.messages.at(-1)?.content, "Answer now")
    assert.strictEqual(reply, [0, 1, 2, 3, 4, 5, 6, 7, 8].join("\n\n"))
    assert.strictEqual(
      events.flatMap((event) => (typeof event === "object" && event.type === "delta" ? [event.text] : [])).join(""),
      reply
    )
  })
)

it.effect("TurnAnswer runs sixteen of a hundred tool calls, eight concurrently, and reports that", () =>
  Effect.gen(function* () {
    running.most = 0
    const many = Array.from({ length: 100 }, (_, at) => call("shout", { text: `t${at}` }, "same"))
    const { requests } = yield* ask((_, at) => (at === 0 ? [...many, done] : [delta("fine"), done]))
    const results = (requests[1]?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message] : []))
    const calls = (requests[1]?.messages ?? []).flatMap((message) =>
      message.role === "assistant" ? (message.toolCalls ?? []) : []
    )
    assert.strictEqual(running.most, 8)
    assert.strictEqual(calls.length, 32)
    assert.deepStrictEqual(
      results.map(({ toolCallId }) => toolCallId),
      calls.map(({ id }) => id)
    )
    assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 32)
    assert.deepStrictEqual(
      results.slice(0, 16).map(({ content }) => content),
      Array.from({ length: 16 }, (_, at) => `T${at}`)
    )
    for (const { content } of results.slice(16)) assert.include(content, "not run")
  })
)

it.effect("TurnAnswer reports tool calls before and after they run, to services that understand it", () =>
  Effect.gen(function* () {
    const script: Script = (_, at) =>
      at === 0 ? [delta("Well:"), call("shout", { text: "a" }), call("none", {}), done] : [delta("A"), done]
    const { events } = yield* ask(script, skilled, { reportsTools: true })
    const reported = events.map((event) => {
      if (typeof event === "string" || event.type !== "tool") return typeof event === "string" ? event : event.type
      const { arguments: text, id, name, result, status } = event.call
      return [id, name, text, status, result?.slice(0, 26) ?? null].join(" ")
    })
    assert.deepStrictEqual(reported, [
      "delta",
      '0.0 shout {"text":"a"} running ',
      "0.1 none {} running ",
      '0.0 shout {"text":"a"} succeeded A',
      "0.1 none {} failed There is no tool of that n",
      "delta",
      "delta",
      "done"
    ])
    const unreported = (yield* ask(script)).events
    assert.isFalse(unreported.some((event) => typeof event === "object" && event.type === "tool"))
  })
)

it.effect("TurnAnswer continues when tools hang", () =>
  Effect.gen(function* () {
    const turn = yield* Effect.forkDaemon(
      ask((_, at) =>
        at === 0 ? [call("hang", { text: "" }, "1"), call("shout", { text: "a" }, "2"), done] : [delta("ok"), done]
      )
    )
    yield* TestClock.adjust("11 seconds")
    const { reply, requests } = yield* Fiber.join(turn)
    assert.strictEqual(reply, "ok")
    assert.deepStrictEqual(
      requests[1]?.messages.slice(-2).map(({ content }) => content),
      ["The tool did not answer within 10s.", "A"]
    )
  })
)

it.effect("TurnAnswer fails with the model's message in any round", () =>
  Effect.gen(function* () {
    const { events } = yield* ask((_, at) =>
      at === 0 ? [call("shout", { text: "a" }), done] : new ModelCallFailed({ reason: "No units are left." })
    )
    assert.deepStrictEqual(events, ["No units are left."])
  })
)

it.effect("TurnAnswer ends endless answers and limits arguments", () =>
  Effect.gen(function* () {
    let answerCount = 0
    const models = fakeModels(() =>
      Stream.repeatEffect(
        Effect.sync(() => {
          answerCount += 10_000
          return delta("x".repeat(10_000))
        })
      )
    )
    const failure = yield* answer(skilled, sampleTurn).pipe(
      Stream.runDrain,
      Effect.flip,
      Effect.provideService(ModelClient, models),
      Effect.provideService(Toolbox, tools),
      Effect.provide(noMcpServers)
    )
    assert.strictEqual(failure.reason, "The model's answer had no end.")
    assert.isBelow(answerCount, maximumReplyLength + 50_000)

    const huge = Array.from({ length: 10 }, (_, at) => call("shout", { text: "x".repeat(500_000) }, `c${at}`))
    const { requests } = yield* ask((_, at) => (at === 0 ? [...huge, done] : [delta("fine"), done]))
    const taken = (requests[1]?.messages ?? []).filter(({ role }) => role === "tool")
    assert.strictEqual(taken.length, 4)
  })
)

const history = (count: number, length: number): Turn["history"] =>
  Array.from({ length: count }, (_, at) => ({
    seq: 10 + at,
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `${at}:${"xxx ".repeat(length / 4)}`
  }))

const isSummary = ({ messages }: RuntimeModelRequest) =>
  messages[0]?.role === "system" && messages[0].content.startsWith("Summarize the conversation")

/** A model of 8,000 tokens. */
const small: RuntimeAgent = { ...sampleAgent, contextWindow: 8_000 }

it.effect("TurnAnswer summarizes the oldest part of a long conversation, and reports it first", () =>
  Effect.gen(function* () {
    const long = history(20, 1_000)
    const { events, requests } = yield* ask(
      (request) => (isSummary(request) ? [delta("They talked "), delta("a lot."), done] : [delta("hi"), done]),
      { ...small, skills: [skill] },
      { history: long, summary: "They met." }
    )
    const [summary, answer] = requests
    assert.strictEqual(requests.length, 2)
    assert.deepStrictEqual(summary?.tools, [])
    assert.strictEqual(summary?.messages.length, 2)
    assert.include(summary?.messages[1]?.content, "Summary of what went before:\nThey met.")
    assert.include(summary?.messages[1]?.content, "User: 0:xxx")
    assert.include(summary?.messages[1]?.content, "Agent: 1:xxx")

    assert.include(answer?.messages[0]?.content, "Earlier in this conversation:\nThey talked a lot.")
    assert.notInclude(answer?.messages[0]?.content, "They met.")
    const kept = long.slice(20 - ((answer?.messages.length ?? 0) - 2))
    assert.isAbove(kept.length, 2)
    assert.strictEqual(kept[0]?.role, "user")
    assert.deepStrictEqual(
      answer?.messages.slice(1, -1),
      kept.map(({ content, role }) => ({ role, content }))
    )
    assert.deepStrictEqual(events, [
      { type: "compacted", summary: "They talked a lot.", upToSeq: (kept[0]?.seq ?? 0) - 1 },
      delta("hi"),
      { type: "done", reply: "hi", model: "real", provider: "p" }
    ])
  })
)

it.effect("TurnAnswer does not summarize a short conversation", () =>
  Effect.gen(function* () {
    const { events, requests } = yield* ask(() => [delta("hi"), done], small, { history: history(10, 1_000) })
    assert.strictEqual(requests.length, 1)
    assert.strictEqual(requests[0]?.messages.length, 12)
    assert.lengthOf(events, 2)
  })
)

it.effect("TurnAnswer continues with the newest messages that fit when the summary fails", () =>
  Effect.gen(function* () {
    const failures: ReadonlyArray<Script> = [
      (request) => (isSummary(request) ? new ModelCallFailed({ reason: "busy" }) : [delta("hi"), done]),
      (request) => (isSummary(request) ? [delta("  "), done] : [delta("hi"), done])
    ]
    for (const script of failures) {
      const { events, requests } = yield* ask(script, small, { history: history(60, 1_000), summary: "They met." })
      assert.deepStrictEqual(events, [delta("hi"), { type: "done", reply: "hi", model: "real", provider: "p" }])
      const answer = requests.at(-1)?.messages ?? []
      assert.include(answer[0]?.content, "Earlier in this conversation:\nThey met.")
      assert.include(answer.at(-2)?.content, "59:")
      assert.isAbove(answer.length, 10)
      assert.isBelow(estimateMessagesTokens(answer), 8_000)
    }
  })
)

it.effect("TurnAnswer limits the time of a summary", () =>
  Effect.gen(function* () {
    const models = fakeModels((request) => (isSummary(request) ? Stream.never : Stream.make(delta("hi"), done)))
    const turn = yield* answer(small, { ...sampleTurn, history: history(20, 1_000) }).pipe(
      Stream.runCollect,
      Effect.provideService(ModelClient, models),
      Effect.provideService(Toolbox, []),
      Effect.provide(noMcpServers),
      Effect.provide(Logger.remove(Logger.defaultLogger)),
      Effect.forkDaemon
    )
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(Chunk.size(yield* Fiber.join(turn)), 2)
  })
)

it.effect("TurnAnswer summarizes a long history in parts, and reports how far", () =>
  Effect.gen(function* () {
    const long = history(120, 1_000)
    const script =
      (failAt: number): Script =>
      (request, at) =>
        isSummary(request)
          ? at === failAt
            ? new ModelCallFailed({ reason: "busy" })
            : [delta(`summary ${at}`), done]
          : [delta("hi"), done]
    const whole = yield* ask(script(-1), small, { history: long })
    // At most four calls; later turns summarize the rest.
    assert.strictEqual(whole.requests.filter(isSummary).length, 4)
    assert.include(whole.requests[1]?.messages[1]?.content, "Summary of what went before:\nsummary 0")
    const upTo = (events: ReadonlyArray<TurnEvent | string>) =>
      events.flatMap((event) => (typeof event === "object" && event.type === "compacted" ? [event] : []))
    assertMatches(upTo(whole.events), [{ summary: "summary 3" }])
    const partly = yield* ask(script(1), small, { history: long })
    assertMatches(upTo(partly.events), [{ summary: "summary 0" }])
    assert.isBelow(upTo(partly.events)[0]?.upToSeq ?? Infinity, upTo(whole.events)[0]?.upToSeq ?? 0)
    for (const { messages } of [...whole.requests, ...partly.requests])
      assert.isBelow(estimateMessagesTokens(messages), 8_000)
  })
)

it.effect.prop(
  "TurnAnswer keeps every request within the model's window",
  [
    FastCheck.record({
      contextWindow: FastCheck.integer({ min: 512, max: 20_000 }),
      systemPrompt: FastCheck.nat(20_000),
      message: FastCheck.nat(50_000),
      messages: FastCheck.nat(30),
      length: FastCheck.nat(3_000),
      calls: FastCheck.nat(6)
    })
  ],
  ([{ calls, contextWindow, length, message, messages, systemPrompt }]) =>
    Effect.gen(function* () {
      const agent = { ...skilled, contextWindow, systemPrompt: "p".repeat(systemPrompt) }
      const floods = Array.from({ length: calls }, (_, at) => call("flood", { text: "" }, `c${at}`))
      const { reply, requests } = yield* ask(
        (request, at) =>
          isSummary(request) ? [delta("sum"), done] : at < 4 ? [...floods, done] : [delta("end"), done],
        agent,
        { history: history(messages, length), message: "m".repeat(message) }
      )
      assert.strictEqual(typeof reply, "string")
      for (const { maxTokens, messages: requested, tools: offered } of requests) {
        assert.isAtMost(
          estimateMessagesTokens(requested) + Math.ceil(JSON.stringify(offered).length / 4),
          contextWindow
        )
        if (maxTokens !== null) assert.isBelow(estimateMessagesTokens(requested), contextWindow)
      }
    }),
  { fastCheck: { numRuns: 40 } }
)

it.effect("answerTurn ends early with the text so far when the turn's budget is used up", () =>
  Effect.gen(function* () {
    const exhausted = new ModelCallFailed({ reason: "The turn has used its budget.", isBudgetExhausted: true })
    const shout = call("shout", { text: "a" })
    const ended = yield* ask((_, at) => (at === 0 ? [delta("Let me see."), shout, done] : exhausted))
    assert.deepStrictEqual(ended.events, [
      delta("Let me see."),
      { type: "done", reply: "Let me see.", model: "real", provider: "p" }
    ])
    const silent = yield* ask((_, at) => (at === 0 ? [shout, done] : exhausted))
    assert.deepStrictEqual(silent.events, ["The turn has used its budget."])
    const failed = yield* ask((_, at) =>
      at === 0 ? [delta("Let me see."), shout, done] : new ModelCallFailed({ reason: "gone" })
    )
    assert.deepStrictEqual(failed.events, [delta("Let me see."), "gone"])
  })
)
