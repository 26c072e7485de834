import { Effect } from "effect"
import { AgentConfigReset } from "../agents/AgentConfigReset.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { UserId } from "../shared/UserId.ts"
import { ConversationRepository } from "./conversations/ConversationRepository.ts"
import { Memories } from "./memory/Memories.ts"

/** All contents that affect the replies of an account's agents: configurations, conversations and notes. */
export class ClaimedContents extends Effect.Service<ClaimedContents>()("@berth/ClaimedContents", {
  effect: Effect.gen(function* () {
    const configurations = yield* AgentConfigReset
    const conversations = yield* ConversationRepository
    const memories = yield* Memories
    const transaction = yield* Transaction

    /** Idempotent. Keeps agents, their names and models. */
    const reset = Effect.fn("ClaimedContents.reset")(function* (userId: UserId) {
      yield* transaction.run(
        Effect.gen(function* () {
          yield* configurations.resetAll(userId)
          yield* memories.removeAll(userId)
          yield* conversations.removeSessions(userId)
        })
      )
      yield* Effect.logInfo("Contents of a claimed account reset").pipe(Effect.annotateLogs("userId", userId))
    })

    return { reset }
  })
}) {}
