import { Array, Data, DateTime, Effect, Option, type Redacted, Schedule } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { Agents } from "../agents/Agents.ts"
import { Channels } from "../channels/Channels.ts"
import { AgentLog } from "../instances/AgentLog.ts"
import { AgentConversations } from "../interaction/conversations/AgentConversations.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { AccessMethods } from "../recovery/claims/AccessMethods.ts"
import { RemoveAccountJob } from "../recovery/deletion/AccountDeletionJobs.ts"
import type { ModelCredentialKey } from "../secrets/Credential.ts"
import { CredentialVault } from "../secrets/CredentialVault.ts"
import { Digests, hashSecret } from "../secrets/Digests.ts"
import type { MessagingPlatform } from "../shared/Channel.ts"
import type { User } from "../shared/User.ts"
import { AgentLiveStreams, type RotatedLiveStream } from "./live-streams/AgentLiveStreams.ts"
import { ClaimCodeUnknown } from "./ProvisioningErrors.ts"
import { UnclaimedAgents } from "./UnclaimedAgents.ts"

/** Secrets that the previous holder has; only their platforms can replace them. */
interface SharedSecrets {
  readonly channels: ReadonlyArray<MessagingPlatform>
  /** Excludes providers for which the claimer has a key. */
  readonly modelKeys: ReadonlyArray<ModelCredentialKey>
}

interface ClaimedAgent {
  readonly agent: Agent
  /** None without a stream, or if its key is replaced later. */
  readonly liveStream: Option.Option<RotatedLiveStream>
  readonly shared: SharedSecrets
}

/** Rolls back a claim until the turns have ended. */
class TurnsInProgress extends Data.TaggedError("TurnsInProgress")<object> {}

/** Longer turns are interrupted. */
const turnWait = Schedule.spaced("250 millis").pipe(Schedule.upTo("30 seconds"))

const claimed = "Agent claimed, stream key replaced"

/** Describes the claim for the agent's log. */
const describeClaim = ({ channels, modelKeys }: SharedSecrets): string => {
  const names = [...channels.map((platform) => `the token of ${platform}`), ...modelKeys.map((key) => `the ${key} key`)]
  return names.length === 0
    ? claimed
    : `${claimed}. The previous holder still has ${names.join(", ")}: make new ones and set them.`
}

/** Transfers unclaimed agents to the accounts of users who present their codes. */
export class AgentClaims extends Effect.Service<AgentClaims>()("@berth/AgentClaims", {
  effect: Effect.gen(function* () {
    const unclaimed = yield* UnclaimedAgents
    const agents = yield* Agents
    const channels = yield* Channels
    const conversations = yield* AgentConversations
    const liveStreams = yield* AgentLiveStreams
    const vault = yield* CredentialVault
    const accessMethods = yield* AccessMethods
    const log = yield* AgentLog
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const digests = yield* Digests

    /**
     * Transfers the agent with its channels, live stream, conversations and model keys, within the limits of the
     * claimer's plan. The stream's key is replaced after the commit. A code is single-use; a failed claim does not
     * consume it.
     */
    const claim = Effect.fn("AgentClaims.claim")(function* (claimer: User, code: Redacted.Redacted) {
      const move = (breaksTurns: boolean) =>
        transaction.run(
          Effect.gen(function* () {
            const found = yield* unclaimed.take(hashSecret(digests, code))
            if (Option.isNone(found)) return yield* new ClaimCodeUnknown()
            const { agentId, ownerId } = found.value
            if (!breaksTurns && (yield* conversations.hasTurns(agentId))) return yield* new TurnsInProgress()
            const agent = yield* Effect.catchTag(
              agents.transfer(agentId, ownerId, claimer),
              "AgentNotFound",
              () => new ClaimCodeUnknown()
            )
            yield* conversations.transfer(agentId, claimer.id)
            const shared = {
              channels: Array.map(yield* channels.list(agentId), ({ platform }) => platform),
              modelKeys: yield* vault.moveModelKeys(ownerId, claimer.id)
            }
            yield* channels.verifyOwner(agentId)
            yield* log.append(agentId, "warning", describeClaim(shared))
            yield* accessMethods.revokeAll(ownerId, DateTime.unsafeMake(0))
            yield* outbox.append(RemoveAccountJob, { userId: ownerId })
            return { agent, shared, isKeyExpired: yield* liveStreams.expireKey(agentId) }
          })
        )
      // The transfer ends the instance of the previous owner, with its turns.
      const reportWait = yield* Effect.once(Effect.logInfo("Claim waits for turns of the agent"))
      const moved = yield* move(false).pipe(
        Effect.tapErrorTag("TurnsInProgress", () => reportWait),
        Effect.retry({ while: ({ _tag }) => _tag === "TurnsInProgress", schedule: turnWait }),
        Effect.catchTag("TurnsInProgress", () => Effect.catchTag(move(true), "TurnsInProgress", Effect.die))
      )
      const { agent, isKeyExpired, shared } = moved
      const { id } = agent
      const liveStream = isKeyExpired
        ? yield* Effect.catchTag(liveStreams.rotateKey(id), "LiveStreamsUnavailable", ({ reason }) =>
            Effect.as(
              Effect.logWarning("Stream key of a claimed agent not replaced yet").pipe(
                Effect.annotateLogs({ agentId: id, reason })
              ),
              Option.none<RotatedLiveStream>()
            )
          )
        : Option.none<RotatedLiveStream>()
      yield* Effect.annotateCurrentSpan({ "agent.id": id, "user.id": claimer.id })
      yield* Effect.logInfo("Agent claimed").pipe(Effect.annotateLogs({ agentId: id, userId: claimer.id }))
      return { agent, liveStream, shared } satisfies ClaimedAgent
    })

    return { claim }
  })
}) {}
