import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { AgentLiveStreams, type RotatedLiveStream } from "@berth/domain/provisioning/live-streams/AgentLiveStreams"
import { Effect, Option } from "effect"
import { group } from "../http/ApiGroup.ts"

export const encodeRotatedStream = Option.match({
  onNone: () => null,
  onSome: ({ id, playbackUrl, streamKey }: RotatedLiveStream) => ({ liveStreamId: id, streamKey, playbackUrl })
})

export const layer = group(WebApi, "agentLiveStreams", (handlers) =>
  Effect.map(AgentLiveStreams, (streams) =>
    handlers
      .handle("find", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          return {
            liveStream: Option.match(yield* streams.find(agent.id), {
              onNone: () => null,
              onSome: ({ endedAt, id, playbackUrl, startedAt, status }) => ({
                liveStreamId: id,
                status,
                playbackUrl,
                startedAt,
                endedAt
              })
            })
          }
        })
      )
      .handle("rotateKey", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          return { liveStream: encodeRotatedStream(yield* streams.rotateKey(agent.id)) }
        })
      )
  )
)
