import { Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import { MemoryRepository } from "../memory/MemoryRepository.ts"
import { TurnRepository } from "../turns/TurnRepository.ts"
import { ConversationRepository } from "./ConversationRepository.ts"

/** All conversations and notes of an agent. */
export class AgentConversations extends Effect.Service<AgentConversations>()("@berth/AgentConversations", {
  effect: Effect.gen(function* () {
    const conversations = yield* ConversationRepository
    const memory = yield* MemoryRepository
    const turns = yield* TurnRepository

    /** Transfers conversations and notes to another user. Joins the running transaction. */
    const transfer = Effect.fn("AgentConversations.transfer")(function* (agentId: AgentId, to: UserId) {
      yield* conversations.transfer(agentId, to)
      yield* memory.transferNotes(agentId, to)
    })

    /** Whether the agent has turns in progress. */
    const hasTurns = Effect.fn("AgentConversations.hasTurns")((agentId: AgentId) => turns.isBusy(agentId))

    return { hasTurns, transfer }
  })
}) {}
