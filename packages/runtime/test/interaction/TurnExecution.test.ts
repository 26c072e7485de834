import type { RuntimeTurnEvent } from "@berth/api/runtime/RuntimeContract"
import { RuntimeAgents } from "@berth/runtime/agents/RuntimeAgents"
import { ModelCallFailed, ModelClient } from "@berth/runtime/ai/ModelClient"
import * as Drain from "@berth/runtime/interaction/Drain"
import { Toolbox } from "@berth/runtime/skills/Toolbox"
import { TurnExecution } from "@berth/runtime/interaction/TurnExecution"
import { assert, it } from "@effect/vitest"
import { Chunk, Duration, Effect, Exit, Fiber, Layer, Logger, Scope, Stream, TestClock } from "effect"
import { fakeModels, noMcpServers, sampleAgent } from "../AgentSamples.ts"
import { assertMatches } from "../../../../test/support/Matching.ts"
import { recordSpans } from "../../../../test/support/RecordedTelemetry.ts"
import { sampleTurn } from "../../../../test/support/SampleTurn.ts"

const turn = (sessionId: string) => ({ ...sampleTurn, sessionId })

const make = (answer: Parameters<typeof fakeModels>[0]) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Drain.drainOnClose.pipe(
      Layer.provideMerge(TurnExecution.Default),
      Layer.provideMerge(Drain.layer),
      Layer.provideMerge(RuntimeAgents.Default),
      Layer.provide(Layer.succeed(ModelClient, fakeModels(answer))),
      Layer.provide([Layer.succeed(Toolbox, []), noMcpServers]),
      Layer.buildWithScope(scope)
    )
    yield* Effect.provide(
      Effect.flatMap(RuntimeAgents, ({ replace }) => replace([sampleAgent])),
      context
    )
    const run = (sessionId: string, drained?: Effect.Effect<void>) =>
      Effect.gen(function* () {
        const events: Array<RuntimeTurnEvent> = []
        const begun = yield* Effect.flatMap(TurnExecution, ({ begin }) => begin(turn(sessionId)))
        yield* begun((some) => {
          events.push(...some)
          return drained
        })
        return events
      }).pipe(Effect.scoped, Effect.provide(context))
    return { run, end: Scope.close(scope, Exit.void) }
  })

const test = <E>(name: string, body: () => Effect.Effect<void, E>) =>
  it.effect(`TurnExecution ${name}`, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)))

const settle = Effect.repeatN(Effect.yieldNow(), 50)

test("joins deltas to the reply", () =>
  Effect.gen(function* () {
    const { run } = yield* make(() =>
      Stream.make(
        { type: "delta" as const, text: "a" },
        { type: "delta" as const, text: "b" },
        { type: "done" as const, model: "real", provider: "p" }
      )
    )
    assert.deepStrictEqual(yield* run("s"), [
      { type: "delta", text: "a" },
      { type: "delta", text: "b" },
      { type: "done", reply: "ab", model: "real", provider: "p" }
    ])
  }))

test("fails the span of a failed turn, whose last event is an error", () => {
  const { layer, spans } = recordSpans()
  return Effect.gen(function* () {
    const { run } = yield* make(() => Stream.fail(new ModelCallFailed({ reason: "no model" })))
    const events = yield* Effect.withSpan(run("s"), "parent")
    assert.deepStrictEqual(
      events.map(({ type }) => type),
      ["error"]
    )
    const span = spans.find((attributes) => attributes.get("name") === "TurnExecution.answer")
    assert.strictEqual(span?.get("exit"), "Failure")
  }).pipe(Effect.provide(layer))
})

test("reads no more of the answer while the reader of a turn is slow", () =>
  Effect.gen(function* () {
    let produced = 0
    const { run } = yield* make(() =>
      Stream.repeatEffectChunk(
        Effect.sync(() => {
          produced += 1
          return Chunk.of({ type: "delta" as const, text: "more" })
        })
      )
    )
    const slow = yield* Effect.fork(run("s", Effect.never))
    yield* settle
    yield* settle
    assert.strictEqual(produced, 1)
    yield* Fiber.interrupt(slow)
  }))

test("reports why a turn failed in the last event, and discloses no defect", () =>
  Effect.gen(function* () {
    const failing = yield* make(() => Stream.fail(new ModelCallFailed({ reason: "no luck" })))
    assert.deepStrictEqual(yield* failing.run("s"), [{ type: "error", message: "no luck" }])
    const dying = yield* make(() => Stream.dieMessage("a secret of the inside"))
    const [event, ...others] = yield* dying.run("s")
    assert.deepStrictEqual(others, [])
    assert.containSubset(event, { type: "error" })
    assert.notInclude(JSON.stringify(event), "secret")
  }))

test("requests at most 64 answers at a time, and the others later", () =>
  Effect.gen(function* () {
    let running = 0
    let most = 0
    const { run } = yield* make(() =>
      Stream.unwrap(
        Effect.gen(function* () {
          running += 1
          most = Math.max(most, running)
          yield* Effect.sleep("1 second")
          running -= 1
          return Stream.make({ type: "done" as const, model: "m", provider: "p" })
        })
      )
    )
    const all = yield* Effect.fork(
      Effect.forEach(Array.from({ length: 100 }), (_, at) => run(`s${at}`), { concurrency: "unbounded" })
    )
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* Fiber.join(all)).length, 100)
    assert.strictEqual(most, 64)
  }))

test("gives turns in progress five seconds when the runtime ends, and accepts no new ones", () =>
  Effect.gen(function* () {
    const { end, run } = yield* make(() => Stream.never)
    const turn = yield* Effect.fork(run("s"))
    yield* settle
    const ending = yield* Effect.fork(end)
    yield* TestClock.adjust(Duration.millis(4900))
    assert.containSubset(yield* Fiber.poll(turn), { _tag: "None" })
    assert.strictEqual((yield* Effect.flip(run("other")))._tag, "RuntimeStopping")
    yield* TestClock.adjust(Duration.millis(200))
    assertMatches(yield* Fiber.join(turn), [{ type: "error" }])
    yield* Fiber.join(ending)
  }))

test("ends at once without turns, else with the last turn", () =>
  Effect.gen(function* () {
    const idle = yield* make(() => Stream.never)
    yield* idle.end
    const { end, run } = yield* make(() =>
      Stream.fromEffect(Effect.delay(Effect.succeed({ type: "done" as const, model: "m", provider: "p" }), "1 second"))
    )
    const turn = yield* Effect.fork(run("s"))
    yield* settle
    const ending = yield* Effect.fork(end)
    yield* TestClock.adjust("1 second")
    assertMatches(yield* Fiber.join(turn), [{ type: "done" }])
    yield* Fiber.join(ending)
  }))
