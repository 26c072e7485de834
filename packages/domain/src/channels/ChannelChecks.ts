import { Effect, Option } from "effect"
import { DomainEvents } from "../events/DomainEvents.ts"
import { AgentLog } from "../instances/AgentLog.ts"
import type { LogLevel } from "../instances/RuntimeLog.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { ChannelConnection, ChannelHealth, ChannelKey, ChannelSecrets } from "./ChannelConnection.ts"
import { ChannelConnections } from "./ChannelConnections.ts"
import type { PlatformFailure } from "./ChannelErrors.ts"
import { ChannelPlatforms } from "./ChannelPlatform.ts"
import { ChannelSettings, findWebhookUrl, selectTransport } from "./ChannelSettings.ts"

const botTaken = "Another agent uses this bot."
const botRefused: ChannelHealth = { state: "refused", reason: botTaken }

export const findHealthAfter = (failure: PlatformFailure): ChannelHealth => {
  switch (failure._tag) {
    case "ChannelTokenRefused":
    case "PlatformRequestRefused":
      return { state: "refused", reason: failure.reason }
    case "PlatformUnreachable":
      return { state: "unreachable", reason: failure.reason }
    case "PlatformThrottled":
      return { state: "unreachable", reason: "The platform asks to wait." }
  }
}

const levels: Record<ChannelHealth["state"], LogLevel> = { connected: "info", refused: "error", unreachable: "warning" }

const describeHealth = ({ platform }: ChannelKey, { bot, reason, state }: ChannelHealth): string =>
  state === "connected"
    ? `Channel ${platform} connected${bot === undefined ? "" : ` as ${bot.name}`}`
    : `Channel ${platform} ${state}: ${reason ?? "no reason is known"}`

/** Checks connections with their platforms. The result determines the channel's health and never affects the agent. */
export class ChannelChecks extends Effect.Service<ChannelChecks>()("@berth/ChannelChecks", {
  effect: Effect.gen(function* () {
    const connections = yield* ChannelConnections
    const platforms = yield* ChannelPlatforms
    const { appUrl } = yield* ChannelSettings
    const agentLog = yield* AgentLog
    const events = yield* DomainEvents
    const transaction = yield* Transaction

    const announce = (
      { agentId, ownerId, platform }: Pick<ChannelConnection, "agentId" | "ownerId" | "platform">,
      { reason, state }: ChannelHealth
    ) =>
      state === "connected"
        ? Effect.void
        : events.append({ kind: "channel.broken", data: { agentId, platform, state, reason } }, ownerId)

    /** Records a health; a change adds an entry in the agent's log and an event. False if the secrets were replaced. */
    const record = Effect.fn("ChannelChecks.record")(function* (connection: ChannelConnection, health: ChannelHealth) {
      const { agentId, platform } = connection
      const isNews =
        health.state !== connection.state || health.reason !== connection.reason || connection.checkedAt === null
      const isCurrent = yield* transaction.run(
        Effect.gen(function* () {
          if (!(yield* connections.recordHealth({ agentId, platform }, connection.revision, health))) return false
          if (isNews) yield* agentLog.append(agentId, levels[health.state], describeHealth(connection, health))
          if (health.state !== connection.state) yield* announce(connection, health)
          return true
        })
      )
      if (isCurrent && isNews)
        yield* Effect.logInfo("Channel checked").pipe(
          Effect.annotateLogs({ agentId, platform, state: health.state, reason: health.reason })
        )
      return isCurrent
    })

    const verify = Effect.fnUntraced(function* (connection: ChannelConnection, secrets: ChannelSecrets) {
      const { agentId, platform } = connection
      const adapter = platforms.get(platform)
      if (adapter === undefined)
        return { state: "refused", reason: "This service does not support the platform." } satisfies ChannelHealth
      const bot = yield* adapter.verify(secrets)
      const transport = selectTransport(adapter, appUrl)
      yield* adapter.activate({ agentId, bot, secrets }, findWebhookUrl(transport, appUrl, connection))
      return { state: "connected", reason: null, bot, transport } satisfies ChannelHealth
    })

    /** Checks the current secrets and registers this service as the receiver of the bot's messages. Idempotent. */
    const check = Effect.fn("ChannelChecks.check")(function* (key: ChannelKey) {
      const found = yield* connections.findWithSecrets(key)
      if (Option.isNone(found)) return
      const { connection, secrets } = found.value
      const health = yield* verify(connection, secrets).pipe(
        Effect.catchAll((failure) => Effect.succeed(findHealthAfter(failure)))
      )
      if (!(yield* record(connection, health)) || health.state !== "connected" || health.bot === undefined) return
      yield* transaction.run(
        Effect.flatMap(
          connections.refuseOthers(key, health.bot.id, botTaken),
          Effect.forEach(
            (other) =>
              Effect.zipRight(
                agentLog.append(other.agentId, "error", describeHealth(other, botRefused)),
                announce(other, botRefused)
              ),
            { discard: true }
          )
        )
      )
    })

    return { check, record }
  })
}) {}
