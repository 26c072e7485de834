import { ChannelTurns } from "@berth/domain/channels/ChannelTurns"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Effect, Layer } from "effect"
import { type BackendClientOptions, failTransportWith, makeBackendClient } from "./BackendClient.ts"

const unreachable = new BackendUnavailable({ reason: "the agent backend cannot be reached. Try again later." })

/** Turns of channels in the backend process, without a time limit here: the runtime's limits apply. */
export const layer = (options: BackendClientOptions) =>
  Layer.effect(
    ChannelTurns,
    Effect.map(makeBackendClient(options), ({ api }) =>
      ChannelTurns.of({
        answer: (turn) => api.channelTurns.answer({ payload: turn }).pipe(failTransportWith(unreachable))
      })
    )
  )
