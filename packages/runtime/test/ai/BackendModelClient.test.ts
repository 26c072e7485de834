import * as BackendModelClient from "@berth/runtime/ai/BackendModelClient"
import { ModelClient } from "@berth/runtime/ai/ModelClient"
import { type BackendModelCall, echo, makeFakeBackend } from "../../../../test/fakes/FakeBackend.ts"
import { assert, it } from "@effect/vitest"
import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import { Chunk, Context, Deferred, Effect, Fiber, Layer, Option, Redacted, Schedule, Stream } from "effect"
import { AgentId } from "@berth/domain/shared/AgentId"

const request = {
  agentId: AgentId.make("agt_1"),
  messageId: "msg_1",
  model: "m",
  messages: [{ role: "user" as const, content: "hello" }],
  temperature: null,
  maxTokens: null,
  tools: []
}

/** All events of a call, and the reason of its failure. */
const outcome = (script: (call: BackendModelCall) => void, url?: string) =>
  Effect.gen(function* () {
    const backend = yield* makeFakeBackend
    backend.respondWith(script)
    const calls = yield* BackendModelClient.layer({
      backendUrl: url ?? backend.url,
      token: Redacted.make("t"),
      headTimeout: "3 seconds",
      idleTimeout: "3 seconds"
    }).pipe(Layer.build, Effect.map(Context.get(ModelClient)))
    return yield* streamFromOpened(calls.answer(request)).pipe(
      Stream.catchAll(({ reason }) => Stream.make(reason)),
      Stream.runCollect,
      Effect.map(Chunk.toReadonlyArray)
    )
  })

const first = { type: "delta" as const, text: "a" }

it.scopedLive("BackendModelClient reports the failure of a call", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* outcome(() => {}), ["The model did not begin to answer in time."])
    assert.deepStrictEqual(yield* outcome((call) => call.send(first)), [
      first,
      "The model stopped in the middle of its answer."
    ])
    assert.deepStrictEqual(
      yield* outcome((call) => {
        call.send(first)
        call.end()
      }),
      [first, "The model's answer was cut short."]
    )
    assert.deepStrictEqual(yield* outcome((call) => call.fail(503, { error: "x", message: "All models are busy." })), [
      "All models are busy."
    ])
    assert.deepStrictEqual(yield* outcome((call) => call.fail(503, ["x"])), ["The AI layer answered with status 503."])
    assert.deepStrictEqual(yield* outcome(() => {}, "http://127.0.0.1:1"), ["The AI layer could not be reached."])
  })
)

it.scopedLive("BackendModelClient accepts keep-alives as activity", () =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<BackendModelCall>()
    const events = yield* Effect.fork(
      outcome((call) => {
        call.send(first)
        Deferred.unsafeDone(begun, Effect.succeed(call))
      })
    )
    const call = yield* Deferred.await(begun)
    // Twice the idle timeout.
    yield* Effect.repeat(Effect.sync(call.comment), Schedule.spaced("100 millis").pipe(Schedule.upTo("6 seconds")))
    call.send({ type: "done", model: "m", provider: "p" })
    call.end()
    assert.deepStrictEqual(yield* Fiber.join(events), [first, { type: "done", model: "m", provider: "p" }])
  })
)

it.scopedLive(
  "BackendModelClient keeps its connection between calls, and repeats a call when the backend has ended it",
  () =>
    Effect.gen(function* () {
      const backend = yield* makeFakeBackend
      const { answer } = yield* BackendModelClient.layer({ backendUrl: backend.url, token: Redacted.make("t") }).pipe(
        Layer.build,
        Effect.map(Context.get(ModelClient))
      )
      const call = Stream.runLast(streamFromOpened(answer(request)))
      const done = Option.some({ type: "done" as const, model: "m", provider: "fake" })
      assert.deepStrictEqual(yield* Effect.replicateEffect(call, 3), [done, done, done])
      assert.strictEqual(new Set(backend.calls.map(({ connection }) => connection)).size, 1)
      const [first] = backend.calls
      backend.respondWith((made) => (made.connection === first?.connection ? made.breakConnection() : echo(made)))
      assert.deepStrictEqual(yield* call, done)
      assert.lengthOf(backend.calls, 5)
    })
)
