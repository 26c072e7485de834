import { Duration, Effect, PubSub, Ref, Schedule, Stream } from "effect"
import type { ClusterClient } from "./ClusterClient.ts"
import { instanceSelector } from "./PodNames.ts"

const reconnectInterval = Duration.seconds(1)
const goneStatus = 410

/**
 * Names of possibly changed pods, from one watch of all instances. It resumes at its last version, including bookmarks;
 * if that has expired, it lists again. `onListed` runs after each list, since earlier changes can be missed.
 */
export const make = Effect.fnUntraced(function* (client: ClusterClient, onListed: Effect.Effect<void>) {
  const changes = yield* PubSub.sliding<string>(1024)
  const version = yield* Ref.make("")

  const begin = Effect.gen(function* () {
    const known = yield* Ref.get(version)
    if (known !== "") return known
    const { items, resourceVersion } = yield* client.listPods(instanceSelector)
    yield* Ref.set(version, resourceVersion)
    for (const { metadata } of items) yield* PubSub.publish(changes, metadata.name)
    yield* onListed
    return resourceVersion
  })

  yield* begin.pipe(
    Effect.flatMap((from) =>
      Stream.runForEach(client.watchPods(instanceSelector, from), ({ name, resourceVersion, type }) =>
        Effect.zipRight(
          Ref.set(version, resourceVersion),
          type === "BOOKMARK" ? Effect.void : PubSub.publish(changes, name)
        )
      )
    ),
    Effect.catchAll((error) =>
      Effect.gen(function* () {
        if (error._tag === "ClusterRequestRejected" && error.status === goneStatus) return yield* Ref.set(version, "")
        yield* Effect.logWarning("Watch of pods interrupted").pipe(Effect.annotateLogs({ reason: error.message }))
        yield* Effect.sleep(reconnectInterval)
      })
    ),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )

  return { changes: Stream.fromPubSub(changes) }
})
export type PodWatch = Effect.Effect.Success<ReturnType<typeof make>>
