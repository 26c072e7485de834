import { ChannelTurns } from "@berth/domain/channels/ChannelTurns"
import { Effect, Layer } from "effect"
import {
  agentBackendUnreachable,
  type BackendClientOptions,
  failTransportWith,
  makeBackendClient
} from "./BackendClient.ts"

/** Turns of channels in the backend process, without a time limit here: the runtime's limits apply. */
export const layer = (options: BackendClientOptions) =>
  Layer.effect(
    ChannelTurns,
    Effect.map(makeBackendClient(options), ({ api }) =>
      ChannelTurns.of({
        answer: (turn) => api.channelTurns.answer({ payload: turn }).pipe(failTransportWith(agentBackendUnreachable))
      })
    )
  )
