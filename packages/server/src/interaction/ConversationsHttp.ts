import { makeSessionSummary } from "@berth/api/interaction/InteractionBodies"
import { WebApi } from "@berth/api/WebApi"
import { ConversationRecords } from "@berth/domain/interaction/conversations/ConversationRecords"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { Principal } from "@berth/domain/sessions/Principal"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

export const layer = group(WebApi, "conversations", (handlers) =>
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const records = yield* ConversationRecords

    return handlers
      .handle("stop", ({ path: { messageId } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          const { id, state } = yield* conversations.stop(user.id, messageId)
          return { messageId: id, status: state }
        })
      )
      .handle("rename", ({ path: { sessionId }, payload: { title } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          return { session: makeSessionSummary(yield* records.rename(user.id, sessionId, title)) }
        })
      )
      .handle("remove", ({ path: { sessionId } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          yield* records.remove(user.id, sessionId)
        })
      )
  })
)
