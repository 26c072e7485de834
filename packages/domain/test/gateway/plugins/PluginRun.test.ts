import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import { mapStreamEnd, openPluginRun, PluginFailed, type PluginResult } from "@berth/domain/gateway/plugins/PluginRun"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, Either, Stream } from "effect"

const delta = (text: string): ModelDelta => ({ type: "delta", text })
const result: PluginResult = { type: "done", message: "ab", tokens: 3, costUsd: null, ownKey: false }
const broken = new PluginFailed({ reason: "it broke" })

it.effect("mapStreamEnd passes whole chunks of deltas and replaces the result", () =>
  Effect.gen(function* () {
    const events = Stream.fromChunks<ModelDelta | PluginResult>(
      Chunk.make(delta("a"), delta("b")),
      Chunk.empty(),
      Chunk.of(result)
    ).pipe(mapStreamEnd((end: PluginResult) => Effect.succeed({ ...end, tokens: 4 })))
    const chunks = Chunk.map(yield* Stream.runCollect(Stream.chunks(events)), Chunk.toReadonlyArray)
    assert.deepStrictEqual(Chunk.toReadonlyArray(chunks), [[delta("a"), delta("b")], [{ ...result, tokens: 4 }]])
  })
)

it.effect("mapStreamEnd passes the deltas of the last chunk when the end fails", () =>
  Effect.gen(function* () {
    const events = Stream.make<[ModelDelta, PluginResult]>(delta("a"), result).pipe(
      mapStreamEnd((_: PluginResult) => broken),
      Stream.either,
      Stream.runCollect
    )
    assert.deepStrictEqual(Chunk.toReadonlyArray(yield* events), [Either.right(delta("a")), Either.left(broken)])
  })
)

it.scoped("openPluginRun fails when a run fails at its end before any delta", () =>
  Effect.gen(function* () {
    const events = Stream.fromChunks<ModelDelta | PluginResult>(Chunk.empty(), Chunk.of(result))
    const opened = yield* Effect.flip(openPluginRun(mapStreamEnd((_: PluginResult) => broken)(events)))
    assert.strictEqual(opened, broken)
  })
)
