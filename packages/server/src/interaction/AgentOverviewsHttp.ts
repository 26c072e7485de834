import { encodeAgentOverviewEvent } from "@berth/api/interaction/AgentOverviewsApi"
import { WebApi } from "@berth/api/WebApi"
import { readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import { AgentOverviews } from "@berth/domain/interaction/overviews/AgentOverviews"
import { Principal } from "@berth/domain/sessions/Principal"
import { absurd, Deferred, Effect, Layer, Stream } from "effect"
import { group } from "../http/ApiGroup.ts"
import { acceptsEventStream, respondEncoded } from "../http/SseResponse.ts"

export const layer = Layer.unwrapScoped(
  Effect.gen(function* () {
    const overviews = yield* AgentOverviews
    // Endless streams would delay the listener's close until its drain limit.
    const closing = yield* Effect.acquireRelease(Deferred.make<void>(), (done) => Deferred.succeed(done, undefined))
    return group(WebApi, "agentOverviews", (handlers) =>
      Effect.succeed(
        handlers.handle("overviews", ({ request }) =>
          Effect.gen(function* () {
            const { user } = yield* Principal
            if (!acceptsEventStream(request.headers["accept"])) return { agents: yield* overviews.list(user.id) }
            const changes = Stream.interruptWhenDeferred(overviews.watch(user.id), closing)
            return respondEncoded(readerFromStream(changes), { encode: encodeAgentOverviewEvent, toLast: absurd })
          })
        )
      )
    )
  })
)
