import { isRequestFault } from "@berth/api/runtime/RuntimeErrors"
import type { ExchangeFailed } from "@berth/api/runtime/RuntimeExchange"
import type { RuntimeStreamProblem } from "@berth/api/runtime/RuntimeStream"
import { withScopedSpan } from "@berth/domain/shared/SpanExport"
import { makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { mapChunkFailure } from "@berth/domain/ai/streams/ChunkSource"
import { AgentRuntime, type RuntimeAccess, RuntimeUnreachable, TurnFailed } from "@berth/domain/instances/AgentRuntime"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Layer, Match } from "effect"
import * as RuntimeClient from "./RuntimeClient.ts"

/** Berth's runtime over HTTP, with each instance's runtime token. */
export const layer: Layer.Layer<AgentRuntime, never, HttpClient.HttpClient> = Layer.scoped(
  AgentRuntime,
  Effect.map(Effect.all([HttpClient.HttpClient, makeIdleTimeouts]), ([http, timers]) => {
    const client = RuntimeClient.make(http, Effect.succeed(timers))
    return AgentRuntime.of({
      configure: Effect.fn("AgentRuntime.configure")((access, agents) =>
        client.configure(toRuntimeEndpoint(access), { agents }).pipe(Effect.mapError(toRuntimeUnreachable))
      ),
      measureStorage: Effect.fn("AgentRuntime.measureStorage")((access) =>
        client.measureStorage(toRuntimeEndpoint(access)).pipe(Effect.mapError(toRuntimeUnreachable))
      ),
      chat: (access, turn) =>
        client
          .turn(toRuntimeEndpoint(access), turn)
          .pipe(
            Effect.mapBoth({ onFailure: toChatError, onSuccess: (events) => mapChunkFailure(events, toChatError) }),
            withScopedSpan("AgentRuntime.chat", { "agent.id": turn.agentId, "user.id": access.instance.owner })
          )
    })
  })
)

const toRuntimeEndpoint = ({ instance, token }: RuntimeAccess): RuntimeClient.RuntimeEndpoint => ({
  endpoint: instance.endpoint,
  token
})

const toRuntimeUnreachable = (error: RuntimeClient.RuntimeUnresponsive | RuntimeClient.RuntimeRequestRejected) =>
  error._tag === "RuntimeRequestRejected"
    ? new RuntimeUnreachable({ reason: error.message })
    : new RuntimeUnreachable({ reason: error.reason, unsent: error.unsent })

/** A rejected turn has failed; any other status means that the runtime does not work. */
const toChatError = Match.typeTags<
  RuntimeClient.RuntimeUnresponsive | RuntimeClient.RuntimeRequestRejected | ExchangeFailed | RuntimeStreamProblem,
  RuntimeUnreachable | TurnFailed
>()({
  RuntimeUnresponsive: toRuntimeUnreachable,
  RuntimeRequestRejected: (error) =>
    isRequestFault(error.status) ? new TurnFailed({ reason: error.message }) : toRuntimeUnreachable(error),
  ExchangeFailed: () => new RuntimeUnreachable({ reason: "the connection was lost" }),
  Truncated: () => new RuntimeUnreachable({ reason: "the answer was cut off" }),
  Malformed: () => new RuntimeUnreachable({ reason: "the answer is not understood" }),
  Oversized: () => new TurnFailed({ reason: "the answer is too long" }),
  Failed: ({ message }) => new TurnFailed({ reason: message })
})
