import { AgentOverviewRepository } from "@berth/domain/interaction/overviews/AgentOverviewRepository"
import { AgentOverviews, maximumOverviewStreams } from "@berth/domain/interaction/overviews/AgentOverviews"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, it } from "@effect/vitest"
import { Array, Deferred, Effect, Fiber, Layer, Option, Stream } from "effect"

const Live = Layer.provide(
  AgentOverviews.Default,
  Layer.succeed(AgentOverviewRepository, { listMarks: () => Effect.succeed([]), list: () => Effect.succeed([]) })
)

const open = (owner: UserId) =>
  Effect.gen(function* () {
    const { watch } = yield* AgentOverviews
    const begun = yield* Deferred.make<void>()
    const reader = yield* Stream.runForEach(watch(owner), () => Deferred.succeed(begun, undefined)).pipe(
      Effect.forkScoped
    )
    yield* Deferred.await(begun)
    return reader
  })

it.scopedLive("AgentOverviews ends the oldest stream of an owner who opens too many, and no other owner's", () =>
  Effect.gen(function* () {
    const owner = UserId.make("usr_many")
    const other = yield* open(UserId.make("usr_other"))
    const streams = yield* Effect.forEach(Array.range(0, maximumOverviewStreams), () => open(owner))
    const isEnded = (reader: Fiber.RuntimeFiber<void>) => Effect.map(Fiber.poll(reader), Option.isSome)
    const [oldest, ...rest] = streams
    assert.isDefined(yield* Effect.transposeOption(Option.map(Option.fromNullable(oldest), Fiber.join)))
    assert.deepStrictEqual(yield* Effect.filter([...rest, other], isEnded), [])
  }).pipe(Effect.timeout("10 seconds"), Effect.provide(Live))
)
