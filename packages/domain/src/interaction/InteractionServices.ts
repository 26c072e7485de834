import { Effect, Layer } from "effect"
import { ConversationRemoval } from "../instances/ConversationRemoval.ts"
import { Attachments } from "./attachments/Attachments.ts"
import { ResumedAnswers } from "./answers/ResumedAnswers.ts"
import { ClaimedContents } from "./ClaimedContents.ts"
import { ChatSessions } from "./conversations/ChatSessions.ts"
import { ConversationRecords } from "./conversations/ConversationRecords.ts"
import { Conversations } from "./conversations/Conversations.ts"
import { ConversationTurns } from "./conversations/ConversationTurns.ts"
import { AgentHealth } from "./health/AgentHealth.ts"
import { Memories } from "./memory/Memories.ts"
import { TurnStops } from "./turns/TurnStops.ts"
import { TurnSettlement } from "./turns/TurnSettlement.ts"

const conversationRemoval = Layer.effect(
  ConversationRemoval,
  Effect.map(ConversationRecords, ({ removeAll }) => ({ removeAll }))
)

export const layer = Layer.mergeAll(Conversations.Default, AgentHealth.Default, conversationRemoval).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Attachments.Default,
      ChatSessions.Default,
      ConversationTurns.Default,
      ConversationRecords.Default,
      ResumedAnswers.Default
    )
  ),
  Layer.provide(Layer.merge(TurnSettlement.Default, TurnStops.Default))
)

export const interactionJobs = Layer.provide(ClaimedContents.Default, Memories.Default)
