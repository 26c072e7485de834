import { BackendApi } from "@berth/api/BackendApi"
import { ChannelTurns } from "@berth/domain/channels/ChannelTurns"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"

export const layer = HttpApiBuilder.group(BackendApi, "channelTurns", (handlers) =>
  Effect.map(ChannelTurns, (turns) => handlers.handle("answer", ({ payload }) => turns.answer(payload)))
)
