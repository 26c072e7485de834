import { Effect, Metric, Option } from "effect"
import { AgentLog } from "../instances/AgentLog.ts"
import type { ChannelConnection } from "./ChannelConnection.ts"
import { ChannelChecks, findHealthAfter } from "./ChannelChecks.ts"
import type { PlatformFailure } from "./ChannelErrors.ts"
import type { OutboundMessage } from "./ChannelMessage.ts"
import type { ChannelPlatform, ConnectedBot } from "./ChannelPlatform.ts"
import { computeSendPause, maximumSendFailures } from "./ChannelPolicy.ts"
import { Chats } from "./Chats.ts"

/** A connection in use. */
export interface OpenChannel {
  readonly connection: ChannelConnection
  readonly adapter: ChannelPlatform
  readonly bot: ConnectedBot
}

const sentParts = Metric.counter("berth_channel_parts_sent_total", {
  description: "Parts of replies that a chat platform accepted",
  incremental: true
})
const repeatedParts = Metric.counter("berth_channel_parts_repeated_total", {
  description: "Parts of replies possibly sent twice, as a worker ended before their record",
  incremental: true
})

const count = (counter: Metric.Metric.Counter<number>, { connection: { platform } }: OpenChannel) =>
  Metric.increment(Metric.tagged(counter, "platform", platform))

/**
 * Sends messages to chats part by part. If the worker dies between the platform's acceptance and the record, the part
 * is sent again and counted.
 */
export class ChatReplies extends Effect.Service<ChatReplies>()("@berth/ChatReplies", {
  effect: Effect.gen(function* () {
    const chats = yield* Chats
    const checks = yield* ChannelChecks
    const agentLog = yield* AgentLog

    const giveUp = Effect.fnUntraced(function* (message: OutboundMessage, reason: string) {
      yield* chats.fail(message.id, reason)
      yield* agentLog.append(
        message.agentId,
        "warning",
        `Channel ${message.platform} could not send to chat ${message.chatId}: ${reason}`
      )
    })

    /** True if the chat's next message may be sent. */
    const handleFailure = Effect.fnUntraced(function* (
      channel: OpenChannel,
      message: OutboundMessage,
      failure: PlatformFailure
    ) {
      switch (failure._tag) {
        case "PlatformThrottled":
          yield* chats.postpone(message, failure.retryAfter, { mayHaveArrived: false })
          return false
        case "PlatformUnreachable":
          if (message.failures >= maximumSendFailures) {
            yield* giveUp(message, failure.reason)
            return true
          }
          yield* chats.postpone(message, computeSendPause(message.failures), failure)
          return false
        case "PlatformRequestRefused":
          yield* giveUp(message, failure.reason)
          return true
        case "ChannelTokenRefused":
          yield* chats.postpone(message, computeSendPause(message.failures), { mayHaveArrived: false })
          yield* checks.record(channel.connection, findHealthAfter(failure))
          return false
      }
    })

    /** Sends the unsent parts. False if the chat must wait or the claim is lost. */
    const send = Effect.fn("ChatReplies.send")(function* (
      channel: OpenChannel,
      message: OutboundMessage,
      claimId: string
    ) {
      const parts = channel.adapter.split(message.text)
      if (parts.length === 0) {
        yield* chats.fail(message.id, "the text is empty")
        return true
      }
      for (const [place, part] of parts.entries()) {
        if (place < message.partsSent) continue
        const begun = yield* chats.beginPart(message, claimId, place)
        if (begun === "lost") return false
        if (begun === "repeated") {
          yield* count(repeatedParts, channel)
          yield* Effect.logWarning("Part of a reply possibly repeated").pipe(
            Effect.annotateLogs({ outboundId: message.id, part: place })
          )
        }
        const { chatId, id, replyTo } = message
        const to = { chatId, replyTo, part: place, idempotencyKey: `${id}/${place}` }
        // A stopping worker waits for the outcome; adapters limit its time.
        const failure = yield* Effect.uninterruptible(
          channel.adapter.send(channel.bot, to, part).pipe(
            Effect.flatMap((externalId) =>
              chats.completePart(message.id, place, { externalId, isLast: place === parts.length - 1 })
            ),
            Effect.zipRight(count(sentParts, channel)),
            Effect.as(Option.none<PlatformFailure>()),
            Effect.catchAll((error) => Effect.succeedSome(error))
          )
        )
        if (Option.isSome(failure)) return yield* handleFailure(channel, message, failure.value)
      }
      return true
    })

    return { send }
  })
}) {}
