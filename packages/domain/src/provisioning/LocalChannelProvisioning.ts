import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import { ExternalAccounts } from "../accounts/registration/ExternalAccounts.ts"
import { AgentInstances } from "../agents/AgentInstances.ts"
import { Agents } from "../agents/Agents.ts"
import { Channels } from "../channels/Channels.ts"
import { normalizeClientAddress } from "../limits/ClientAddress.ts"
import { IdempotentExecution } from "../limits/IdempotentExecution.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { CredentialVault } from "../secrets/CredentialVault.ts"
import { Digests, hashSecret } from "../secrets/Digests.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { Caller } from "../sessions/Caller.ts"
import { Email } from "../shared/Email.ts"
import { ChannelProvisioning, ProvisionedChannelAgent } from "./ChannelProvisioning.ts"
import { LiveStreamRepository } from "./live-streams/LiveStreamRepository.ts"
import { type CreatedLiveStream, LiveStreams } from "./live-streams/LiveStreams.ts"
import { UnclaimedLimitReached } from "./ProvisioningErrors.ts"
import { parseProvisioningRequest, type ProvisioningOrder, type ProvisioningRequest } from "./ProvisioningRequest.ts"
import { computeNetworkMaximum, UnclaimedAgents, UnclaimedPolicy } from "./UnclaimedAgents.ts"

const agentName = "Agent"
const ownerName = "Unclaimed agent"

const greet = (code: Redacted.Redacted) =>
  `Your agent is connected. To add it to your account, sign in and claim it with this code, which works once:\n${Redacted.value(code)}`

export const layer = Layer.effect(
  ChannelProvisioning,
  Effect.gen(function* () {
    const accounts = yield* ExternalAccounts
    const agents = yield* Agents
    const instances = yield* AgentInstances
    const channels = yield* Channels
    const vault = yield* CredentialVault
    const streams = yield* LiveStreams
    const liveStreams = yield* LiveStreamRepository
    const unclaimed = yield* UnclaimedAgents
    const { unclaimedEmailDomain } = yield* AccountPolicy
    const { lifetime, maximum } = yield* UnclaimedPolicy
    const { run } = yield* IdempotentExecution
    const transaction = yield* Transaction
    const tokens = yield* Tokens
    const digests = yield* Digests

    const ofNetwork = computeNetworkMaximum(maximum)

    const checkLimits = Effect.fnUntraced(function* (network: Option.Option<string>) {
      const count = yield* unclaimed.count(network)
      const retryAfter = Duration.min(lifetime, Duration.hours(1))
      if (count.total >= maximum) return yield* new UnclaimedLimitReached({ scope: "all", limit: maximum, retryAfter })
      if (count.ofNetwork >= ofNetwork)
        return yield* new UnclaimedLimitReached({ scope: "network", limit: ofNetwork, retryAfter })
    })

    const accept = Effect.fnUntraced(function* (
      order: ProvisioningOrder,
      stream: CreatedLiveStream,
      network: Option.Option<string>
    ) {
      const owner = yield* Effect.orDie(
        accounts.create({
          email: (id) => Email.make(`${id}@${unclaimedEmailDomain}`),
          name: Option.some(ownerName)
        })
      )
      const agent = yield* agents.provisionUnclaimed(owner.id, {
        name: agentName,
        channels: order.tokens.map(({ platform }) => platform)
      })
      if (Option.isSome(order.apiKey))
        yield* vault.setModelKey(owner.id, order.apiKey.value.key, order.apiKey.value.value)
      const code = yield* tokens.make
      yield* Effect.forEach(
        order.tokens,
        ({ platform, token }) =>
          channels.connect(
            owner.id,
            { agentId: agent.id, platform },
            {
              secrets: { token },
              greeting:
                platform === "platformA"
                  ? Option.getOrUndefined(Option.map(order.claimant, (chatId) => ({ chatId, text: greet(code) })))
                  : undefined
            }
          ),
        { discard: true }
      )
      const { id, keyHash, playbackUrl, streamKey } = stream
      yield* liveStreams.insert({ id, agentId: agent.id, playbackUrl, keyHash })
      const { subdomain } = yield* instances.describe(owner.id)
      // Last, since it serializes all provisioning until the commit.
      yield* unclaimed.lock
      yield* checkLimits(network)
      yield* unclaimed.insert({ ownerId: owner.id, agentId: agent.id, codeHash: hashSecret(digests, code), network })
      return {
        userId: owner.id,
        agentId: agent.id,
        subdomain,
        streamKey,
        liveStreamId: id,
        playbackUrl,
        aiProvider: order.provider,
        plan: order.plan,
        status: agent.status,
        createdAt: agent.createdAt,
        claimCode: Option.isSome(order.claimant) ? Option.none() : Option.some(code)
      }
    })

    /** Best-effort: a stream left at the provider has no row and no viewers. */
    const discard = ({ id }: CreatedLiveStream) =>
      Effect.catchAllCause(streams.end(id), (cause) => Effect.logWarning("Live stream not ended", cause))

    const provision = Effect.fn("ChannelProvisioning.provision")(function* (request: ProvisioningRequest) {
      const order = yield* parseProvisioningRequest(request)
      const network = Option.map((yield* Caller).address, normalizeClientAddress)
      // A cheap check before the call to the provider of live streams; the count under the lock decides.
      yield* checkLimits(network)
      const stream = yield* streams.create("unclaimed agent")
      const provisioned = yield* transaction
        .run(run(ProvisionedChannelAgent, accept(order, stream, network)))
        .pipe(Effect.onError(() => discard(stream)))
      // A repetition returns the stream of the first request.
      if (provisioned.liveStreamId !== stream.id) yield* discard(stream)
      yield* Effect.logInfo("Unclaimed agent accepted").pipe(
        Effect.annotateLogs({ agentId: provisioned.agentId, userId: provisioned.userId })
      )
      return provisioned
    })

    return ChannelProvisioning.of({ provision })
  })
)
