import { Effect, Either, Option, type Redacted } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { AgentConfiguration } from "../agents/AgentConfiguration.ts"
import { type CredentialKey, parseCredentialValue } from "../secrets/Credential.ts"
import { CredentialVault } from "../secrets/CredentialVault.ts"
import { type Channel, MessagingPlatform } from "../shared/Channel.ts"
import type { User } from "../shared/User.ts"
import type { ChannelConnection } from "./ChannelConnection.ts"
import { ChannelNotConnected } from "./ChannelErrors.ts"
import { Channels } from "./Channels.ts"

/** An owner's change of one channel; null removes it. Absent members stay. */
export interface ChannelChange {
  readonly token?: Redacted.Redacted | undefined
  readonly appSecret?: Redacted.Redacted | undefined
  readonly verifyToken?: Redacted.Redacted | undefined
  readonly enabled?: boolean | undefined
  readonly answersBots?: boolean | undefined
}
export type ChannelChanges = { readonly [Platform in MessagingPlatform]?: ChannelChange | null | undefined }

/** The credential of the owner that serves a connection without a token of its own. */
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

/** The channels of the agent's configuration after the changes. A token enables its channel. */
export const selectChannels = (before: ReadonlyArray<Channel>, changes: ChannelChanges): ReadonlyArray<Channel> => {
  const next = new Set(before)
  for (const { change, platform } of changed(changes)) {
    const enabled = change === null ? false : (change.enabled ?? (change.token === undefined ? undefined : true))
    if (enabled === true) next.add(platform)
    if (enabled === false) next.delete(platform)
  }
  return [...next]
}

/** A channel as its owner sees it; no secrets. */
export interface ChannelView {
  readonly platform: MessagingPlatform
  readonly connection: ChannelConnection | undefined
  /** Selected and part of the plan. */
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
        const connection = connections.find((one) => one.platform === platform)
        return { platform, connection, enabled: connection !== undefined && effective.includes(platform) }
      })
    })

    const findToken = (owner: User, platform: MessagingPlatform, { enabled, token }: ChannelChange) =>
      Effect.gen(function* () {
        if (token !== undefined) return Option.some(yield* parseCredentialValue(token))
        if (enabled !== true) return Option.none()
        return Option.fromNullable((yield* vault.readChannelTokens(owner.id))[vaultKeys[platform]])
      })

    const parseOptional = (value: Redacted.Redacted | undefined) =>
      value === undefined ? Either.right(undefined) : parseCredentialValue(value)

    const select = (owner: User, agent: Agent, channels: ReadonlyArray<Channel>) =>
      configuration.change(owner, agent, { config: { channels } }).pipe(
        // Only the channels change.
        Effect.catchTags({
          ModelNotAllowed: Effect.die,
          CustomModelMissing: Effect.die,
          SkillSelectionInvalid: Effect.die
        })
      )

    /** Applies the changes. Selection and plan are those of the agent's configuration, which stays consistent with the channels. */
    const change = Effect.fn("ChannelConfiguration.change")(function* (
      owner: User,
      agent: Agent,
      changes: ChannelChanges
    ) {
      const connected = new Set((yield* channels.list(agent.id)).map(({ platform }) => platform))
      const planned = yield* Effect.forEach(changed(changes), ({ change, platform }) =>
        Effect.gen(function* () {
          if (change === null) return { platform, change, secrets: undefined }
          const token =
            change.token === undefined && connected.has(platform)
              ? Option.none()
              : yield* findToken(owner, platform, change)
          if (Option.isNone(token) && !connected.has(platform)) return yield* new ChannelNotConnected()
          const secrets = Option.isNone(token)
            ? undefined
            : {
                token: token.value,
                appSecret: yield* parseOptional(change.appSecret),
                verifyToken: yield* parseOptional(change.verifyToken)
              }
          return { platform, change, secrets }
        })
      )
      const selected = selectChannels(agent.config.channels, changes)
      const isChanged =
        selected.length !== agent.config.channels.length || selected.some((one) => !agent.config.channels.includes(one))
      const stored = isChanged ? yield* select(owner, agent, selected) : agent
      for (const { change, platform, secrets } of planned) {
        const key = { agentId: agent.id, platform }
        if (change === null) yield* channels.disconnect(key)
        else if (secrets !== undefined)
          yield* channels.connect(owner.id, key, { secrets, answersBots: change.answersBots })
        else if (change.answersBots !== undefined) yield* channels.setAnswersBots(key, change.answersBots)
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
