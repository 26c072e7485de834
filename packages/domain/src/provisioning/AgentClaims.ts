import { Effect, Option, type Redacted } from "effect"
import { Agents } from "../agents/Agents.ts"
import { AgentConversations } from "../interaction/conversations/AgentConversations.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { RemoveAccountJob } from "../recovery/deletion/AccountDeletionJobs.ts"
import { CredentialVault } from "../secrets/CredentialVault.ts"
import { Digests, hashSecret } from "../secrets/Digests.ts"
import type { User } from "../shared/User.ts"
import { ClaimCodeUnknown } from "./ProvisioningErrors.ts"
import { UnclaimedAgents } from "./UnclaimedAgents.ts"

/** Moves unclaimed agents to the accounts of those who have their codes. */
export class AgentClaims extends Effect.Service<AgentClaims>()("@berth/AgentClaims", {
  effect: Effect.gen(function* () {
    const unclaimed = yield* UnclaimedAgents
    const agents = yield* Agents
    const conversations = yield* AgentConversations
    const vault = yield* CredentialVault
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const digests = yield* Digests

    /**
     * Moves the agent with its channels, live stream, conversations and model keys, within the limits of the claimer's plan.
     * A code works once; a claim that fails leaves it valid.
     */
    const claim = Effect.fn("AgentClaims.claim")(function* (claimer: User, code: Redacted.Redacted) {
      const moved = yield* transaction.run(
        Effect.gen(function* () {
          const found = yield* unclaimed.take(hashSecret(digests, code))
          if (Option.isNone(found)) return yield* new ClaimCodeUnknown()
          const { agentId, ownerId } = found.value
          const agent = yield* Effect.catchTag(
            agents.transfer(agentId, ownerId, claimer),
            "AgentNotFound",
            () => new ClaimCodeUnknown()
          )
          yield* conversations.transfer(agentId, claimer.id)
          yield* vault.moveModelKeys(ownerId, claimer.id)
          yield* outbox.append(RemoveAccountJob, { userId: ownerId })
          return agent
        })
      )
      yield* Effect.annotateCurrentSpan({ "agent.id": moved.id, "user.id": claimer.id })
      yield* Effect.logInfo("Agent claimed").pipe(Effect.annotateLogs({ agentId: moved.id, userId: claimer.id }))
      return moved
    })

    return { claim }
  })
}) {}
