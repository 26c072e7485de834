import { DateTime, Effect, Option } from "effect"
import { AgentLog } from "../instances/AgentLog.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { type ChannelConnection, type ChannelKey, isSelected } from "./ChannelConnection.ts"
import { ChannelConnections } from "./ChannelConnections.ts"
import { WebhookNotAuthentic } from "./ChannelErrors.ts"
import { AnswerChatJob } from "./ChannelJobs.ts"
import type { ReceivedMessage } from "./ChannelMessage.ts"
import { ChannelPlatforms, type WebhookRequest } from "./ChannelPlatform.ts"
import { floodLimits, floodNotice, noticeInterval } from "./ChannelPolicy.ts"
import { Chats } from "./Chats.ts"

/** Receives messages of platforms. Each is stored once, with the job that answers it. */
export class ChannelInbox extends Effect.Service<ChannelInbox>()("@berth/ChannelInbox", {
  effect: Effect.gen(function* () {
    const connections = yield* ChannelConnections
    const chats = yield* Chats
    const platforms = yield* ChannelPlatforms
    const agentLog = yield* AgentLog
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    const reportDropped = Effect.fnUntraced(function* (
      { agentId, ownerId, platform }: ChannelConnection,
      chatId: string,
      why: "flooded" | "looping"
    ) {
      const chat = { agentId, platform, chatId }
      if (!(yield* chats.mayNotify(chat, noticeInterval))) return
      const reason = why === "flooded" ? "too many messages" : "only bots write"
      yield* agentLog.append(agentId, "warning", `Channel ${platform} drops messages of chat ${chatId}: ${reason}`)
      if (why === "looping") return
      yield* chats.enqueue(chat, floodNotice)
      yield* outbox.append(AnswerChatJob, chat, ownerId)
    })

    /** Stores new messages with their jobs. Joins the running transaction. Returns the number of stored messages. */
    const accept = Effect.fn("ChannelInbox.accept")(function* (
      connection: ChannelConnection,
      messages: ReadonlyArray<ReceivedMessage>
    ) {
      const { agentId, answersBots, ownerId, platform } = connection
      if (!isSelected(connection)) return 0
      const accepted = messages.filter(({ content }) => answersBots || !content.senderIsBot)
      // The same lock order of chats for all receivers. The limit per minute would drop the rest one by one.
      const ordered = accepted
        .slice(0, floodLimits.agent)
        .toSorted((a, b) => (a.chatId < b.chatId ? -1 : a.chatId > b.chatId ? 1 : 0))
      const stored = yield* transaction.run(
        Effect.forEach(ordered, (message) =>
          Effect.gen(function* () {
            const reception = yield* chats.receive({ agentId, platform }, message, floodLimits)
            if (reception === "stored")
              yield* outbox.append(AnswerChatJob, { agentId, platform, chatId: message.chatId }, ownerId)
            if (reception === "flooded" || reception === "looping")
              yield* reportDropped(connection, message.chatId, reception)
            return reception === "stored"
          })
        )
      )
      const [first] = accepted.slice(floodLimits.agent)
      if (first !== undefined) yield* reportDropped(connection, first.chatId, "flooded")
      return stored.filter(Boolean).length
    })

    /** Verifies a webhook request and stores its messages. Returns the response that the platform requires, if any. */
    const receiveWebhook = Effect.fn("ChannelInbox.receiveWebhook")(function* (
      key: ChannelKey,
      request: Omit<WebhookRequest, "receivedAt">
    ) {
      const adapter = platforms.get(key.platform)
      const found = yield* connections.findWithSecrets(key)
      if (adapter === undefined || Option.isNone(found)) return yield* new WebhookNotAuthentic()
      const { connection, secrets } = found.value
      if (connection.bot === null) return yield* new WebhookNotAuthentic()
      const { messages, response } = yield* adapter.receive(
        { agentId: key.agentId, bot: connection.bot, secrets },
        { ...request, receivedAt: yield* DateTime.now }
      )
      if (connection.state !== "refused") yield* accept(connection, messages)
      return response
    })

    /** Answers a platform's verification request for a webhook. */
    const answerHandshake = Effect.fn("ChannelInbox.answerHandshake")(function* (
      key: ChannelKey,
      query: URLSearchParams
    ) {
      const secrets = yield* connections.readSecrets(key)
      const adapter = platforms.get(key.platform)
      const answer = Option.flatMap(secrets, (known) => adapter?.answerHandshake?.(known, query) ?? Option.none())
      return yield* Effect.mapError(answer, () => new WebhookNotAuthentic())
    })

    return { accept, answerHandshake, receiveWebhook }
  })
}) {}
