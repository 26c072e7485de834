import { BackendApi } from "@berth/api/BackendApi"
import { ChannelTurns } from "@berth/domain/channels/ChannelTurns"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

export const layer = group(BackendApi, "channelTurns", (handlers) =>
  Effect.map(ChannelTurns, (turns) => handlers.handle("answer", ({ payload }) => turns.answer(payload)))
)
