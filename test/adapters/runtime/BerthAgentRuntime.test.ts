import {
  AgentRuntime,
  type RuntimeAccess,
  type RuntimeAgent,
  type Turn,
  type TurnEvent
} from "@berth/domain/instances/AgentRuntime"
import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import * as BerthAgentRuntime from "@berth/infra/runtime/BerthAgentRuntime"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import {
  Cause,
  Chunk,
  Context,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Option,
  Redacted,
  Schedule,
  type Scope,
  Stream
} from "effect"
import { type FakeBackend, makeFakeBackend, type BackendModelCall } from "../../fakes/FakeBackend.ts"
import { bundleRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { assertMatches } from "../../support/Matching.ts"

/** A runtime, and the start of an instance with it. */
interface RuntimeUnderTest {
  readonly name: string
  readonly runtime: Effect.Effect<AgentRuntime["Type"], never, Scope.Scope>
  readonly start: (
    backend: FakeBackend
  ) => Effect.Effect<RuntimeAccess & { readonly stop: Effect.Effect<void> }, unknown, Scope.Scope>
}

const owner = UserId.make("usr_ada")
const token = Redacted.make("the runtime token")

let program = ""

const berth: RuntimeUnderTest = {
  name: "Berth's own",
  runtime: BerthAgentRuntime.layer.pipe(
    Layer.provide(UnixSocketClient.layer),
    Layer.build,
    Effect.map(Context.get(AgentRuntime))
  ),
  start: ({ url }) =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* ProcessInstanceDriver.layer({ directory, bundle: program, onClose: "stop" }).pipe(
        Layer.provide(UnixSocketClient.layer),
        Layer.build,
        Effect.map(Context.get(InstanceDriver))
      )
      const instance = yield* driver.start({ owner, memoryMb: 256, cpus: 1, diskMb: 256, token, backendUrl: url })
      return { instance, token, stop: Effect.orDie(driver.stop(owner)) }
    })
}

const agent = (id: string, changes: Partial<RuntimeAgent> = {}): RuntimeAgent => ({
  id: AgentId.make(id),
  name: "Ada",
  model: "sandbox/echo",
  systemPrompt: "Speak like a sailor.",
  temperature: 0.5,
  maxTokens: 100,
  timezone: "Europe/Paris",
  skills: [],
  contextWindow: 128_000,
  ...changes
})

const turn = (message: string, changes: Partial<Turn> = {}): Turn => ({
  agentId: AgentId.make("agt_1"),
  sessionId: "chs_1",
  messageId: `msg_${message}`,
  summary: null,
  fromOwner: true,
  memories: [],
  history: [],
  message,
  ...changes
})

const eventually = (condition: () => boolean) =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("10 millis") }),
    Effect.timeout("30 seconds"),
    Effect.asVoid
  )

const finish = (call: BackendModelCall | undefined, text: string) =>
  Effect.sync(() => {
    call?.send({ type: "delta", text }, { type: "done", model: "m", provider: "p" })
    call?.end()
  })

const test = <E>(name: string, body: () => Effect.Effect<void, E, Scope.Scope>) =>
  it.scopedLive(`BerthAgentRuntime ${name}`, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)))

/** `accepted` runs when the instance has accepted the turn. */
const chat = (runtime: AgentRuntime["Type"], access: RuntimeAccess, requested: Turn, accepted = () => {}) =>
  streamFromOpened(Effect.tap(runtime.chat(access, requested), () => Effect.sync(accepted)))

for (const runtimeUnderTest of [berth])
  describe(`AgentRuntime: ${runtimeUnderTest.name}`, () => {
    beforeAll(async () => {
      program = await bundleRuntime()
    })

    const ready = Effect.gen(function* () {
      const backend = yield* makeFakeBackend
      const access = yield* runtimeUnderTest.start(backend)
      const runtime = yield* runtimeUnderTest.runtime
      yield* runtime.configure(access, [agent("agt_1")])
      const ask = (message: string, changes: Partial<Turn> = {}, accepted = () => {}) =>
        chat(runtime, access, turn(message, changes), accepted)
      /** Starts a turn in a fiber; returns when the runtime has received it. */
      const begin = (message: string, changes: Partial<Turn> = {}) =>
        Effect.gen(function* () {
          let isAccepted = false
          const accepted = () => {
            isAccepted = true
          }
          const fiber = yield* Effect.fork(Stream.runCollect(ask(message, changes, accepted)))
          yield* eventually(() => isAccepted)
          return fiber
        })
      return { backend, access, runtime, ask, begin }
    })

    const failureOf = <A, E, R>(stream: Stream.Stream<A, E, R>) => Effect.flip(Stream.runDrain(stream))

    test("streams deltas and ends with the whole reply", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        const events = yield* Stream.runCollect(
          ask("ahoy ☺", {
            history: [
              { seq: 1, role: "user", content: "hello" },
              { seq: 2, role: "assistant", content: "hi" }
            ]
          })
        )
        assert.deepStrictEqual(Chunk.toReadonlyArray(events), [
          { type: "delta", text: "You said: " },
          { type: "delta", text: "ahoy ☺" },
          { type: "done", reply: "You said: ahoy ☺", model: "sandbox/echo", provider: "fake" }
        ])
        const [call] = backend.calls
        assert.strictEqual(call?.token, "the runtime token")
        assert.containSubset(call?.request, {
          agentId: "agt_1",
          messageId: "msg_ahoy ☺",
          model: "sandbox/echo",
          temperature: 0.5,
          maxTokens: 100
        })
        const [system, ...rest] = call?.request.messages ?? []
        assert.include(system?.content, "Ada")
        assert.include(system?.content, "Speak like a sailor.")
        assert.include(system?.content, "Europe/Paris")
        assert.deepStrictEqual(rest, [
          { role: "user", content: "hello" },
          { role: "assistant", content: "hi" },
          { role: "user", content: "ahoy ☺" }
        ])
      }))

    test("forwards deltas as they arrive", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        backend.respondWith((call) => {
          call.send({ type: "delta", text: "first" })
        })
        const seen: Array<string> = []
        const fiber = yield* Effect.fork(
          Stream.runForEach(ask("hello"), (event) => Effect.sync(() => seen.push(event.type)))
        )
        yield* eventually(() => seen.length === 1)
        assert.deepStrictEqual(seen, ["delta"])
        yield* finish(backend.calls[0], "second")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(seen, ["delta", "delta", "done"])
      }))

    test("answers the turns of a session in order of arrival, without the messages of others", () =>
      Effect.gen(function* () {
        const { backend, begin } = yield* ready
        backend.respondWith(() => {})
        const one = yield* begin("one")
        const two = yield* begin("two")
        const three = yield* begin("three")
        const aside = yield* begin("aside", { sessionId: "chs_2" })
        const requested = () => backend.calls.map(({ request }) => request.messages.at(-1)?.content)
        yield* eventually(() => backend.calls.length === 2)
        assert.deepStrictEqual(requested(), ["one", "aside"])

        yield* finish(backend.calls[1], "aside")
        yield* Fiber.join(aside)
        yield* finish(backend.calls[0], "one")
        yield* Fiber.join(one)
        yield* eventually(() => backend.calls.length === 3)
        yield* finish(backend.calls[2], "two")
        yield* Fiber.join(two)
        yield* eventually(() => backend.calls.length === 4)
        yield* finish(backend.calls[3], "three")
        yield* Fiber.join(three)
        assert.deepStrictEqual(requested(), ["one", "aside", "two", "three"])
      }))

    test("keeps the order when a turn is interrupted", () =>
      Effect.gen(function* () {
        const { backend, begin } = yield* ready
        backend.respondWith(() => {})
        const one = yield* begin("one")
        const two = yield* begin("two")
        const three = yield* begin("three")
        yield* Fiber.interrupt(two)
        assert.strictEqual(backend.calls.length, 1)
        const late: Array<BackendModelCall> = []
        backend.respondWith((call) => late.push(call))
        yield* finish(backend.calls[0], "one")
        yield* Fiber.join(one)
        const last = () => late.find(({ request }) => request.messageId === "msg_three")
        yield* eventually(() => last() !== undefined)
        yield* finish(last(), "three")
        yield* Fiber.join(three)
      }))

    test("interrupts the model call when the caller disconnects", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        backend.respondWith((call) => {
          call.send({ type: "delta", text: "first" })
        })
        const fiber = yield* Effect.fork(Stream.runDrain(ask("hello")))
        yield* eventually(() => backend.calls.length === 1)
        yield* Fiber.interrupt(fiber)
        yield* Effect.promise(() => backend.calls[0]?.abandoned ?? Promise.reject(new Error("no call"))).pipe(
          Effect.timeout("30 seconds")
        )
        backend.respondWith((call) => Effect.runSync(finish(call, "again")))
        assert.strictEqual(Chunk.size(yield* Stream.runCollect(ask("again"))), 2)
      }))

    test("fails a turn with the model's error message", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        backend.respondWith((call) => {
          call.send({ type: "delta", text: "well" }, { type: "error", message: "the model is out of breath" })
          call.end()
        })
        assert.containSubset(yield* failureOf(ask("hello")), {
          _tag: "TurnFailed",
          reason: "the model is out of breath"
        })
        backend.respondWith((call) => {
          call.fail(402, { error: "payment_required", message: "No units are left." })
        })
        assert.containSubset(yield* failureOf(ask("hello")), { _tag: "TurnFailed", reason: "No units are left." })
        backend.respondWith((call) => {
          call.fail(500, "?")
        })
        assert.strictEqual((yield* failureOf(ask("hello")))._tag, "TurnFailed")
      }))

    test("fails a turn whose model response is truncated or malformed, and answers the next", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        const troubles: ReadonlyArray<(call: BackendModelCall) => void> = [
          (call) => {
            call.send({ type: "delta", text: "wel" })
            setImmediate(() => call.breakConnection())
          },
          (call) => {
            call.send({ type: "delta", text: "wel" })
            call.end()
          },
          (call) => {
            call.fail(200, { not: "a stream" })
          }
        ]
        for (const trouble of troubles) {
          backend.respondWith(trouble)
          assert.strictEqual((yield* failureOf(ask("hello")))._tag, "TurnFailed")
        }
        backend.respondWith((call) => Effect.runSync(finish(call, "fine")))
        assert.strictEqual(Chunk.size(yield* Stream.runCollect(ask("again"))), 2)
      }))

    test("retries a model call once when the backend hangs up before its response, and not later", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        backend.respondWith((call) => {
          if (backend.calls.length === 1) call.breakConnection()
          else Effect.runSync(finish(call, "second try"))
        })
        assert.containSubset(Chunk.toReadonlyArray(yield* Stream.runCollect(ask("hello"))).at(-1), {
          reply: "second try"
        })
        assert.strictEqual(backend.calls.length, 2)
        backend.respondWith((call) => {
          call.send({ type: "delta", text: "wel" })
          setImmediate(() => call.breakConnection())
        })
        yield* failureOf(ask("hello"))
        assert.strictEqual(backend.calls.length, 3)
      }))

    test("fails a turn when the backend is unreachable, and stays up", () =>
      Effect.gen(function* () {
        const access = yield* Effect.flatMap(Effect.scoped(makeFakeBackend), runtimeUnderTest.start)
        const runtime = yield* runtimeUnderTest.runtime
        yield* runtime.configure(access, [agent("agt_1")])
        assert.strictEqual((yield* failureOf(chat(runtime, access, turn("hello"))))._tag, "TurnFailed")
        yield* runtime.configure(access, [agent("agt_1")])
      }))

    test("replaces the agents while a turn is in progress", () =>
      Effect.gen(function* () {
        const { access, ask, backend, runtime } = yield* ready
        backend.respondWith(() => {})
        const fiber = yield* Effect.fork(Stream.runCollect(ask("hello")))
        yield* eventually(() => backend.calls.length === 1)
        yield* runtime.configure(access, [
          agent("agt_2", { name: "Bob", systemPrompt: null, timezone: "Nowhere/None" })
        ])
        yield* finish(backend.calls[0], "fine")
        assert.strictEqual(Chunk.size(yield* Fiber.join(fiber)), 2)
        assert.strictEqual((yield* failureOf(ask("hello")))._tag, "TurnFailed")

        backend.respondWith((call) => Effect.runSync(finish(call, "fine")))
        yield* Stream.runDrain(ask("hello", { agentId: AgentId.make("agt_2") }))
        assert.include(backend.calls.at(-1)?.request.messages[0]?.content, "Bob")
      }))

    test("distinguishes an unreachable runtime from a failed turn", () =>
      Effect.gen(function* () {
        const { access, ask, backend, runtime } = yield* ready
        assert.containSubset(
          yield* Effect.flip(runtime.configure({ ...access, token: Redacted.make("another") }, [])),
          { _tag: "RuntimeUnreachable" }
        )

        backend.respondWith((call) => {
          call.send({ type: "delta", text: "wel" })
        })
        const cut = yield* Effect.fork(Effect.exit(Stream.runDrain(ask("hello"))))
        yield* eventually(() => backend.calls.length === 1)
        // The runtime drains the turn, then reports its failure.
        yield* access.stop
        const exit = yield* Fiber.join(cut)
        assert.strictEqual(
          Exit.isFailure(exit) && Cause.isFailType(exit.cause) ? exit.cause.error._tag : exit,
          "TurnFailed"
        )
        assert.strictEqual((yield* failureOf(ask("hello")))._tag, "RuntimeUnreachable")
      }))

    test("finishes the turn in progress before it ends, and rejects others", () =>
      Effect.gen(function* () {
        const { access, ask, backend, begin } = yield* ready
        backend.respondWith((call) => {
          call.send({ type: "delta", text: "wel" })
        })
        const fiber = yield* begin("hello")
        const stopping = yield* Effect.fork(access.stop)
        // While it ends, a runtime rejects even a turn of an unknown agent.
        yield* failureOf(ask("?", { agentId: AgentId.make("agt_none") })).pipe(
          Effect.repeat({
            until: ({ _tag }) => _tag === "RuntimeUnreachable",
            schedule: Schedule.spaced("10 millis")
          })
        )
        yield* finish(backend.calls[0], "come")
        assert.containSubset(Chunk.toReadonlyArray(yield* Fiber.join(fiber)).at(-1), { reply: "welcome" })
        yield* Fiber.join(stopping)
      }))

    const toolCall = (name: string, args: unknown) =>
      ({ type: "tool-call", call: { id: `call_${name}`, name, arguments: JSON.stringify(args) } }) as const

    /** A model that makes the given tool calls and then returns their last results. */
    const using =
      (...rounds: ReadonlyArray<ReadonlyArray<ReturnType<typeof toolCall>>>) =>
      (call: BackendModelCall): void => {
        const at = call.request.messages.filter((message) => "toolCalls" in message).length
        const wanted = rounds[at] ?? []
        const results = call.request.messages.slice(-(rounds[at - 1]?.length ?? 0)).map(({ content }) => content)
        call.send(...wanted, ...(wanted.length > 0 ? [] : [{ type: "delta" as const, text: results.join("\n") }]))
        call.send({ type: "done", model: "m", provider: "p" })
        call.end()
      }

    const skill = (...tools: ReadonlyArray<string>) => ({
      id: "tools",
      description: "Has tools.",
      instructions: "Use them.",
      tools
    })
    const replyOf = (events: Chunk.Chunk<TurnEvent>) =>
      Chunk.toReadonlyArray(events).flatMap((event) => (event.type === "done" ? [event.reply] : []))[0]

    test("lets an agent use the tools of its skills within the instance's permissions", () =>
      Effect.gen(function* () {
        const { access, ask, backend, runtime } = yield* ready
        const names = [
          "calculate",
          "current_time",
          "write_file",
          "read_file",
          "list_files",
          "delete_file",
          "fetch_web_page"
        ]
        yield* runtime.configure(access, [agent("agt_1", { skills: [skill(...names)] }), agent("agt_2")])
        backend.respondWith(
          using(
            [toolCall("calculate", { expression: "2^10 / 3 * 3" }), toolCall("current_time", {})],
            [toolCall("write_file", { path: "notes/one.md", content: "first\n" })],
            [toolCall("read_file", { path: "notes/one.md" }), toolCall("list_files", {})]
          )
        )
        assert.deepStrictEqual(yield* runtime.measureStorage(access), Option.some(0))
        const reply = replyOf(yield* Stream.runCollect(ask("go")))
        assert.isAbove(Option.getOrThrow(yield* runtime.measureStorage(access)), 0)
        assert.include(reply, "first\n")
        assert.include(reply, "notes/one.md (6 bytes)")
        const [, second] = backend.calls
        assert.strictEqual(second?.request.messages.at(-2)?.content, "1024")
        assert.include(second?.request.messages.at(-1)?.content, "(Europe/Paris)")
        // Files persist after the turn; tools cannot access other directories or private networks.
        backend.respondWith(
          using([
            toolCall("read_file", { path: "notes/one.md" }),
            toolCall("read_file", { path: "../../agt_2/files/x" }),
            toolCall("fetch_web_page", { url: "http://10.0.0.1/" }),
            toolCall("delete_file", { path: "notes/one.md" })
          ])
        )
        const later = replyOf(yield* Stream.runCollect(ask("again", { sessionId: "chs_2" })))
        assert.deepStrictEqual(later?.split("\n"), [
          "first",
          "",
          "The path must not contain ..",
          "http://10.0.0.1/ is not on the public internet.",
          "The file is deleted."
        ])
        backend.respondWith(using([toolCall("read_file", { path: "notes/one.md" })]))
        const other = yield* Stream.runCollect(ask("go", { agentId: AgentId.make("agt_2"), sessionId: "chs_3" }))
        assert.include(replyOf(other), "no tool of that name")
      }))

    test("remembers, recalls and reads pages through the backend with the runtime token", () =>
      Effect.gen(function* () {
        const { access, ask, backend, runtime } = yield* ready
        yield* runtime.configure(access, [agent("agt_1", { skills: [skill("remember", "recall", "fetch_web_page")] })])
        backend.respondWith(
          using(
            [toolCall("remember", { text: "Mia likes tea." })],
            [toolCall("recall", { query: "tea" }), toolCall("fetch_web_page", { url: "http://site.example/a" })]
          )
        )
        const reply = replyOf(yield* Stream.runCollect(ask("go")))
        assert.include(reply, "Mia likes tea.")
        assert.include(reply, "Address: http://site.example/a\n\nWelcome.")
        assert.deepStrictEqual(backend.pageCalls, [
          {
            token: "the runtime token",
            query: { agentId: AgentId.make("agt_1"), messageId: "msg_go", url: "http://site.example/a" }
          }
        ])
        assert.deepStrictEqual(
          backend.memoryCalls.map(({ token }) => token),
          Array(2).fill("the runtime token")
        )
      }))

    test("reports the compaction of a long conversation with its summary", () =>
      Effect.gen(function* () {
        const { access, ask, backend, runtime } = yield* ready
        yield* runtime.configure(access, [agent("agt_1", { contextWindow: 4_000 })])
        backend.respondWith((call) => {
          const summing = call.request.messages[0]?.content.startsWith("Summarize the conversation") === true
          Effect.runSync(finish(call, summing ? "They counted." : "fine"))
        })
        const history = Array.from({ length: 20 }, (_, at) => ({
          seq: at + 1,
          role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
          content: `${at} ${"x".repeat(600)}`
        }))
        const events = Chunk.toReadonlyArray(yield* Stream.runCollect(ask("go on", { history })))
        assertMatches(events, [
          { type: "compacted", summary: "They counted." },
          { type: "delta", text: "fine" },
          { type: "done", reply: "fine" }
        ])
        assert.include(
          backend.calls.at(-1)?.request.messages[0]?.content,
          "Earlier in this conversation:\nThey counted."
        )
      }))

    test("propagates the trace to the model call", () =>
      Effect.gen(function* () {
        const { ask, backend } = yield* ready
        const traceId = yield* Effect.flatMap(Effect.currentSpan, (span) =>
          Effect.as(Stream.runDrain(ask("hello")), span.traceId)
        ).pipe(Effect.withSpan("test"))
        assert.strictEqual(backend.calls[0]?.traceparent?.split("-")[1], traceId)
      }))
  })
