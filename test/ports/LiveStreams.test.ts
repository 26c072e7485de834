import * as BuiltInLiveStreams from "@berth/domain/provisioning/live-streams/BuiltInLiveStreams"
import { LiveStreamId } from "@berth/domain/provisioning/live-streams/LiveStream"
import { LiveStreamsUnavailable } from "@berth/domain/provisioning/live-streams/LiveStreamErrors"
import { LiveStreamRepository } from "@berth/domain/provisioning/live-streams/LiveStreamRepository"
import { LiveStreams } from "@berth/domain/provisioning/live-streams/LiveStreams"
import * as NodeDigests from "@berth/infra/crypto/NodeDigests"
import * as NodeTokens from "@berth/infra/crypto/NodeTokens"
import type { MuxAccess } from "@berth/infra/mux/MuxClient"
import * as MuxLiveStreams from "@berth/infra/mux/MuxLiveStreams"
import { FetchHttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { makeFakeMux } from "../fakes/mux/FakeMux.ts"

const builtIn = BuiltInLiveStreams.layer({ appUrl: new URL("http://localhost:3000") }).pipe(
  Layer.provide(
    Layer.mergeAll(
      NodeDigests.layer,
      NodeTokens.layer,
      Layer.mock(LiveStreamRepository, { find: () => Effect.succeedNone })
    )
  )
)
const mux = (access: MuxAccess) => Layer.provide(MuxLiveStreams.layer(access), FetchHttpClient.layer)

const layers = [
  ["built-in origin", Effect.succeed(builtIn)],
  ["Mux", Effect.map(makeFakeMux, ({ access }) => mux(access))]
] as const

for (const [name, layer] of layers)
  describe(`LiveStreams of ${name}`, () => {
    it.scopedLive(
      `LiveStreams of ${name} makes streams with keys and addresses of their own, idle until a broadcast`,
      () =>
        Effect.gen(function* () {
          const { create, end, status } = yield* LiveStreams
          const [one, other] = [yield* create("agt_1"), yield* create("agt_2")]
          assert.notStrictEqual(one.id, other.id)
          assert.notStrictEqual(Redacted.value(one.streamKey), Redacted.value(other.streamKey))
          assert.isFalse(one.playbackUrl.includes(Redacted.value(one.streamKey)))
          assert.isTrue(URL.canParse(one.playbackUrl) && one.playbackUrl.endsWith(".m3u8"))
          assert.strictEqual(yield* status(one.id), "idle")
          yield* end(one.id)
          yield* end(one.id)
          assert.strictEqual(yield* status(one.id), "idle")
        }).pipe(Effect.provide(Layer.unwrapScoped(layer)))
    )
  })

describe("MuxLiveStreams", () => {
  it.scopedLive("MuxLiveStreams names the agent to Mux, reports its status and deletes the stream", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeMux
      yield* Effect.gen(function* () {
        const { create, end, listActive, rotateKey, status } = yield* LiveStreams
        const { id, keyHash, streamKey } = yield* create("agt_1")
        assert.isTrue(Option.isNone(keyHash))
        const rotated = Option.getOrThrow(yield* rotateKey(id))
        assert.notStrictEqual(Redacted.value(rotated.streamKey), Redacted.value(streamKey))
        assert.isTrue(Option.isNone(rotated.keyHash))
        assert.isTrue(Option.isNone(yield* rotateKey(LiveStreamId.make("none"))))
        assert.deepStrictEqual(yield* fake.references, ["agt_1"])
        yield* fake.setStatus("active")
        assert.strictEqual(yield* status(id), "active")
        const active = Option.getOrThrow(yield* listActive)
        assert.deepStrictEqual([...active], [id])
        yield* Effect.replicateEffect(create("agt_2"), 100, { concurrency: 10, discard: true })
        assert.strictEqual(Option.getOrThrow(yield* listActive).size, 101)
        yield* fake.setStatus("disabled")
        assert.strictEqual(Option.getOrThrow(yield* listActive).size, 0)
        assert.strictEqual(yield* status(id), "idle")
        yield* end(id)
        assert.notInclude(yield* fake.references, "agt_1")
      }).pipe(Effect.provide(mux(fake.access)))
    })
  )

  it.scopedLive("MuxLiveStreams is unavailable where Mux refuses or does not answer, and repeats no secret", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeMux
      const failures = (layer: Layer.Layer<LiveStreams>) =>
        Effect.gen(function* () {
          const { create, end, status } = yield* LiveStreams
          const id = LiveStreamId.make("none")
          return yield* Effect.all([
            Effect.flip(create("agt_1")),
            Effect.flip(create("a".repeat(256))),
            Effect.exit(status(id)),
            Effect.exit(end(id))
          ])
        }).pipe(Effect.provide(layer))
      const check = (failed: Effect.Effect.Success<ReturnType<typeof failures>>) => {
        for (const error of failed.slice(0, 2)) assert.instanceOf(error, LiveStreamsUnavailable)
        for (const secret of ["hunter2", "stream_key"]) assert.notInclude(JSON.stringify(failed), secret)
      }
      yield* fake.failWith(500)
      check(yield* failures(mux(fake.access)))
      yield* fake.failWith(null)
      const stranger = { ...fake.access, tokenSecret: Redacted.make("wrong-hunter2") }
      check(yield* failures(mux(stranger)))
      check(yield* failures(mux({ ...fake.access, apiUrl: new URL("http://127.0.0.1:1") })))
    })
  )
})
