import { Effect, Either, Option, type Redacted } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { AgentConfiguration } from "../agents/AgentConfiguration.ts"
import { type CredentialKey, parseCredentialValue } from "../secrets/Credential.ts"
import { CredentialVault } from "../secrets/CredentialVault.ts"
import { type Channel, MessagingPlatform } from "../shared/Channel.ts"
import type { User } from "../shared/User.ts"
import type { ChannelConnection, ChannelKey } from "./ChannelConnection.ts"
import { ChannelNotConnected } from "./ChannelErrors.ts"
import { Channels } from "./Channels.ts"

/** An owner's change of one channel; null removes it. Absent members remain unchanged. */
interface ChannelChange {
  readonly token?: Redacted.Redacted | undefined
  readonly appSecret?: Redacted.Redacted | undefined
  readonly verifyToken?: Redacted.Redacted | undefined
  readonly phoneNumberId?: string | undefined
  readonly businessAccountId?: string | undefined
  readonly enabled?: boolean | undefined
  readonly answersBots?: boolean | undefined
}
type ChannelChanges = { readonly [Platform in MessagingPlatform]?: ChannelChange | null | undefined }

/** Owner's credential for connections without a token. */
const vaultKeys = {
  platformA: "telegram",
  platformB: "whatsapp",
  platformC: "discord"
} as const satisfies Record<MessagingPlatform, CredentialKey>

const changed = (changes: ChannelChanges) =>
  MessagingPlatform.literals.flatMap((platform) => {
    const change = changes[platform]
    return change === undefined ? [] : [{ platform, change }]
  })

/** Returns the configured channels after the changes. A token enables its channel. */
const selectChannels = (before: ReadonlyArray<Channel>, changes: ChannelChanges): ReadonlyArray<Channel> => {
  const next = new Set(before)
  for (const { change, platform } of changed(changes)) {
    const enabled = change === null ? false : (change.enabled ?? (change.token === undefined ? undefined : true))
    if (enabled === true) next.add(platform)
    if (enabled === false) next.delete(platform)
  }
  return [...next]
}

/** The view of a channel for its owner, without secrets. */
export interface ChannelView {
  readonly platform: MessagingPlatform
  readonly connection: ChannelConnection | undefined
  /** Selected, and included in the plan. */
  readonly enabled: boolean
}

/** Reads and changes the channels of an agent. */
export class ChannelConfiguration extends Effect.Service<ChannelConfiguration>()("@berth/ChannelConfiguration", {
  effect: Effect.gen(function* () {
    const channels = yield* Channels
    const configuration = yield* AgentConfiguration
    const vault = yield* CredentialVault

    const read = Effect.fn("ChannelConfiguration.read")(function* (owner: User, agent: Agent) {
      const connections = yield* channels.list(agent.id)
      const effective = (yield* configuration.findEffective(owner, agent)).channels
      return MessagingPlatform.literals.map((platform): ChannelView => {
        const connection = connections.find((candidate) => candidate.platform === platform)
        return { platform, connection, enabled: connection !== undefined && effective.includes(platform) }
      })
    })

    /** Returns the owner's credential of the platform, for a channel without a token. */
    const findCredential = (owner: User, platform: MessagingPlatform) =>
      Effect.map(vault.readChannelTokens(owner.id), (tokens) => tokens[vaultKeys[platform]])

    const parseOptional = (value: Redacted.Redacted | undefined) =>
      value === undefined ? Either.right(undefined) : parseCredentialValue(value)

    /** Returns the secrets after a change; none if unchanged. Absent secrets remain. */
    const planSecrets = Effect.fnUntraced(function* (owner: User, key: ChannelKey, change: ChannelChange) {
      const before = Option.getOrUndefined(yield* channels.readSecrets(key))
      const { businessAccountId, enabled, phoneNumberId } = change
      const changed = yield* Effect.all({
        token: parseOptional(change.token),
        appSecret: parseOptional(change.appSecret),
        verifyToken: parseOptional(change.verifyToken)
      })
      const hasChanges = [...Object.values(changed), phoneNumberId, businessAccountId].some(
        (value) => value !== undefined
      )
      if (before !== undefined && !hasChanges) return undefined
      const credential =
        changed.token === undefined && before === undefined && enabled === true
          ? yield* findCredential(owner, key.platform)
          : undefined
      const token = changed.token ?? before?.token ?? credential
      if (token === undefined) return yield* new ChannelNotConnected()
      return {
        token,
        appSecret: changed.appSecret ?? before?.appSecret,
        verifyToken: changed.verifyToken ?? before?.verifyToken,
        phoneNumberId: phoneNumberId ?? before?.phoneNumberId,
        businessAccountId: businessAccountId ?? before?.businessAccountId
      }
    })

    const select = (owner: User, agent: Agent, channels: ReadonlyArray<Channel>) =>
      configuration.change(owner, agent, { config: { channels } }).pipe(
        // A change of the channels alone never causes these errors.
        Effect.catchTags({
          ModelNotAllowed: Effect.die,
          CustomModelMissing: Effect.die,
          SkillSelectionInvalid: Effect.die
        })
      )

    /** Applies the changes by the rules of the agent's configuration, which stays consistent with the channels. */
    const change = Effect.fn("ChannelConfiguration.change")(function* (
      owner: User,
      agent: Agent,
      changes: ChannelChanges
    ) {
      const connections = yield* channels.list(agent.id)
      const planned = yield* Effect.forEach(changed(changes), ({ change, platform }) =>
        Effect.map(
          change === null ? Effect.succeed(undefined) : planSecrets(owner, { agentId: agent.id, platform }, change),
          (secrets) => ({ platform, change, secrets })
        )
      )
      const selected = selectChannels(agent.config.channels, changes)
      const isChanged =
        selected.length !== agent.config.channels.length ||
        selected.some((channel) => !agent.config.channels.includes(channel))
      const stored = isChanged ? yield* select(owner, agent, selected) : agent
      for (const { change, platform, secrets } of planned) {
        const key = { agentId: agent.id, platform }
        if (change === null) yield* channels.disconnect(key)
        else if (secrets !== undefined) {
          const before = connections.find((connection) => connection.platform === platform)
          yield* channels.connect(owner.id, key, { secrets, answersBots: change.answersBots ?? before?.answersBots })
        } else if (change.answersBots !== undefined) yield* channels.setAnswersBots(key, change.answersBots)
      }
      yield* Effect.logInfo("Channels changed").pipe(
        Effect.annotateLogs({
          agentId: agent.id,
          userId: owner.id,
          platforms: planned.map(({ platform }) => platform).join(", ")
        })
      )
      return yield* read(owner, stored)
    })

    return { read, change }
  })
}) {}
