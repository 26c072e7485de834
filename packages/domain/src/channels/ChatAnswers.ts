import { Duration, Effect, FiberSet, Option, Ref, Schedule } from "effect"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import { Users } from "../accounts/Users.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { AgentLog } from "../instances/AgentLog.ts"
import { ChatSessionId, MessageId } from "../interaction/Conversation.ts"
import { whileRenewed } from "../limits/Lease.ts"
import { isInDomain } from "../shared/Email.ts"
import { isSelected } from "./ChannelConnection.ts"
import { ChannelConnections } from "./ChannelConnections.ts"
import type { ChatKey, InboundMessage } from "./ChannelMessage.ts"
import { ChannelPlatforms } from "./ChannelPlatform.ts"
import {
  computeTurnPause,
  brokenChatPause,
  failureNotice,
  maximumAnsweredChats,
  noticeInterval,
  type RefusalCause,
  refusalNotices,
  refusalReasons,
  turnRepeatLimit,
  typingDelay,
  typingInterval
} from "./ChannelPolicy.ts"
import { ChannelTurns } from "./ChannelTurns.ts"
import { findCommandReply } from "./ChatCommands.ts"
import { ChatReplies, type OpenChannel } from "./ChatReplies.ts"
import { Chats } from "./Chats.ts"
import { formatForModel, listRecordings } from "./InboundText.ts"

/** Id of a message's turn; constant until a turn ends before its model call. */
const makeTurnId = ({ id }: InboundMessage, failedTurns: number): MessageId =>
  MessageId.make(`${id.replace(/^inb_/, "msg_")}${failedTurns === 0 ? "" : `_${failedTurns}`}`)

interface ClaimedWork {
  readonly chat: ChatKey
  readonly claimId: string
  readonly isOfOwner: boolean
  readonly session: Ref.Ref<ChatSessionId | null>
}

/** Answers the pending messages of chats in order, one chat per lease. */
export class ChatAnswers extends Effect.Service<ChatAnswers>()("@berth/ChatAnswers", {
  scoped: Effect.gen(function* () {
    const agentLog = yield* AgentLog
    const allowances = yield* Allowances
    const chats = yield* Chats
    const connections = yield* ChannelConnections
    const ids = yield* IdGenerator
    const platforms = yield* ChannelPlatforms
    const replies = yield* ChatReplies
    const turns = yield* ChannelTurns
    const users = yield* Users
    const { unclaimedEmailDomain } = yield* AccountPolicy
    const running = yield* FiberSet.make<void>()
    const slots = yield* Effect.makeSemaphore(maximumAnsweredChats)

    const openChannel = Effect.fnUntraced(function* (chat: ChatKey) {
      const adapter = platforms.get(chat.platform)
      const { connection, secrets } = Option.getOrUndefined(yield* connections.findWithSecrets(chat)) ?? {}
      if (connection === undefined || secrets === undefined || adapter === undefined) return Option.none()
      if (connection.bot === null || connection.state === "refused") return Option.none()
      const bot = { agentId: chat.agentId, bot: connection.bot, secrets }
      return Option.some<OpenChannel>({ connection, adapter, bot })
    })

    const reply = ({ claimId }: ClaimedWork, message: InboundMessage, text: string, status: "answered" | "refused") => {
      const { isAnsweredInPlace, isGroup, messageId } = message.content
      const replyTo = isGroup || isAnsweredInPlace === true ? messageId : null
      return chats.answer(message, claimId, { status, reply: { text, replyTo } })
    }

    /** Answers with a notice and writes a log entry, both at most once per interval and chat. */
    const refuse = Effect.fnUntraced(function* (work: ClaimedWork, message: InboundMessage, cause: RefusalCause) {
      if (!(yield* chats.mayNotify(work.chat, noticeInterval)))
        return yield* chats.answer(message, work.claimId, { status: "refused" })
      yield* agentLog.append(
        message.agentId,
        "warning",
        `Channel ${message.platform} does not answer chat ${message.chatId}: ${refusalReasons[cause]}`
      )
      return yield* reply(work, message, refusalNotices[cause], "refused")
    })

    const showTyping = ({ adapter, bot }: OpenChannel, { chatId, content: { messageId } }: InboundMessage) =>
      adapter
        .showTyping(bot, { chatId, messageId })
        .pipe(
          Effect.ignore,
          Effect.repeat(Schedule.spaced(typingInterval)),
          Effect.delay(typingDelay),
          Effect.zipRight(Effect.never)
        )

    const ensureSession = Effect.fnUntraced(function* ({ chat, session }: ClaimedWork) {
      const known = yield* Ref.get(session)
      if (known !== null) return known
      const created = ChatSessionId.make(yield* ids.next("chs"))
      yield* chats.setSession(chat, created)
      yield* Ref.set(session, created)
      return created
    })

    const findRefusal = Effect.fnUntraced(function* ({ connection }: OpenChannel) {
      const owner = yield* Effect.option(users.find(connection.ownerId))
      if (Option.isNone(owner) || owner.value.suspendedAt !== null) return Option.some<RefusalCause>("owner")
      // `POST /api/provision` accepts the token of every platform; the plan counts from the claim on.
      if (isInDomain(owner.value.email, unclaimedEmailDomain)) return Option.none()
      const { features } = yield* allowances.find(owner.value)
      return features.channels.includes(connection.platform) ? Option.none() : Option.some<RefusalCause>("plan")
    })

    /** Sends the message to the agent, and shows that it is typing. */
    const ask = Effect.fnUntraced(function* (work: ClaimedWork, channel: OpenChannel, message: InboundMessage) {
      const { agentId, platform } = message
      const userId = channel.connection.ownerId
      const sessionId = yield* ensureSession(work)
      const turn = {
        userId,
        agentId,
        platform,
        sessionId,
        fromOwner: work.isOfOwner && !message.content.isGroup,
        messageId: makeTurnId(message, message.failedTurns),
        repeats: message.failedTurns === 0 ? undefined : makeTurnId(message, message.failedTurns - 1),
        message: formatForModel(message.content),
        spoken:
          listRecordings(platform, message.content).length > 0
            ? { id: message.id, platform, content: message.content }
            : undefined
      }
      return yield* Effect.raceFirst(turns.answer(turn), showTyping(channel, message))
    })

    /** False if the chat must wait or the claim is lost. */
    const answer = Effect.fn("ChatAnswers.answer")(function* (
      work: ClaimedWork,
      channel: OpenChannel,
      message: InboundMessage
    ) {
      const { content } = message
      if (!isSelected(channel.connection)) return yield* chats.answer(message, work.claimId, { status: "ignored" })
      const commandReply =
        content.command === null ? undefined : findCommandReply(content.command, channel.connection.agentName)
      if (commandReply !== undefined) {
        if (content.command === "reset") {
          yield* chats.setSession(work.chat, null)
          yield* Ref.set(work.session, null)
        }
        return yield* reply(work, message, commandReply, "answered")
      }
      const refusal = yield* findRefusal(channel)
      if (Option.isSome(refusal)) return yield* refuse(work, message, refusal.value)
      const received = yield* Effect.catchTag(ask(work, channel, message), "BackendUnavailable", ({ reason }) =>
        Effect.succeed({ type: "busy", reason } as const)
      )
      const isProvisioning = channel.connection.agentStatus === "provisioning"
      const outcome =
        received.type === "refused" && received.why === "agent" && isProvisioning
          ? ({ type: "busy", reason: "the agent is being provisioned" } as const)
          : received
      if (outcome.type === "answered") return yield* reply(work, message, outcome.reply, "answered")
      if (outcome.type === "refused") return yield* refuse(work, message, outcome.why)
      const { reason, type } = outcome
      if (type !== "failed" && Duration.lessThan(message.sinceFirstTurn, turnRepeatLimit)) {
        yield* Effect.logWarning("Turn of a chat not begun").pipe(
          Effect.annotateLogs({ inboundId: message.id, reason })
        )
        yield* chats.repeatLater(message, computeTurnPause(message.sinceFirstTurn), type)
        return false
      }
      yield* agentLog.append(
        message.agentId,
        "error",
        `Channel ${message.platform} got no answer for chat ${message.chatId}: ${reason}`
      )
      return yield* reply(work, message, failureNotice, "answered")
    })

    /**
     * The channel is opened for every message, since its secrets and its owner can change. False when the channel is
     * closed.
     */
    const workOn = (work: ClaimedWork): Effect.Effect<boolean> =>
      Effect.gen(function* () {
        const next = yield* chats.findWork(work.chat)
        if (Option.isNone(next)) return "waits" as const
        const channel = yield* openChannel(work.chat)
        if (Option.isNone(channel)) return "closed" as const
        const mayContinue =
          next.value._tag === "Send"
            ? yield* replies.send(channel.value, next.value.message, work.claimId)
            : yield* answer(work, channel.value, next.value.message)
        return mayContinue ? ("next" as const) : ("waits" as const)
      }).pipe(
        Effect.repeat({ while: (step) => step === "next" }),
        Effect.map((step) => step !== "closed")
      )

    /** Answers the pending messages of a chat unless another worker does. */
    const run = (chat: ChatKey): Effect.Effect<void> =>
      Effect.gen(function* () {
        const isOpen = yield* Effect.acquireUseRelease(
          chats.claim(chat),
          Option.match({
            onNone: () => Effect.succeed(false),
            onSome: ({ claimId, isOfOwner, sessionId }) =>
              Effect.gen(function* () {
                const session = yield* Ref.make(sessionId)
                return yield* workOn({ chat, claimId, isOfOwner, session }).pipe(
                  whileRenewed(chats.renew(chat, claimId))
                )
              })
          }),
          Option.match({ onNone: () => Effect.void, onSome: ({ claimId }) => chats.release(chat, claimId) })
        )
        // The job of a message that arrived just before the release found the chat claimed and skipped it.
        if (isOpen && (yield* chats.hasWork(chat))) yield* run(chat)
      }).pipe(Effect.withSpan("ChatAnswers.run", { attributes: { "agent.id": chat.agentId } }))

    /**
     * Answers the chat in the background, so that no job waits for a model. Interrupted when the service's scope
     * closes.
     */
    const start = (chat: ChatKey): Effect.Effect<void> =>
      run(chat).pipe(
        Effect.catchAllCause((cause) =>
          Effect.zipRight(Effect.logError("Chat not answered", cause), chats.pause(chat, brokenChatPause))
        ),
        slots.withPermits(1),
        FiberSet.run(running),
        Effect.asVoid
      )

    return { run, start }
  })
}) {}
