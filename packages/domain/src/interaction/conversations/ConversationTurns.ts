import { Cause, DateTime, Effect, Option } from "effect"
import { forEachBatch } from "../../ai/streams/ChunkSource.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { AgentManager } from "../../instances/AgentManager.ts"
import type { ToolInvocation, TurnEvent } from "../../instances/AgentRuntime.ts"
import { leaseDuration, makeSharedRenewal } from "../../limits/Lease.ts"
import { retryOverOutage } from "../../persistence/OutageRetry.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import * as OwnerLocks from "../../shared/OwnerLocks.ts"
import { makeAttachmentPrompts } from "../attachments/Attachments.ts"
import type { AnswerPublication } from "../answers/AnswerPublication.ts"
import { AnswerStreams } from "../answers/AnswerStreams.ts"
import { endToolCall, makePartialAnswers } from "../answers/PartialAnswers.ts"
import {
  limitStoredActivities,
  maximumToolActivities,
  shortenToolActivity,
  type ToolActivity
} from "../../skills/tools/ToolActivity.ts"
import { type Message, MessageId, toChatRole } from "../Conversation.ts"
import { AnswerStopped, MessageCanceled, MessageUnanswered } from "../ConversationErrors.ts"
import { Memories } from "../memory/Memories.ts"
import { awaitOpenCalls } from "../turns/OpenCalls.ts"
import { type AgentTurn, TurnRepository } from "../turns/TurnRepository.ts"
import { TurnSettlement } from "../turns/TurnSettlement.ts"
import { TurnStops } from "../turns/TurnStops.ts"
import { ConversationRepository, type MessageFailure } from "./ConversationRepository.ts"
import { fitHistory } from "./HistoryWindow.ts"
import * as TurnQueue from "./TurnQueue.ts"
import { logInfoWith } from "../../shared/AnnotatedLog.ts"
import { scopedDirectly } from "../../shared/HotPath.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

const toTurn = ({ agentId, id, userId }: Message): AgentTurn => ({ userId, agentId, turnId: id })

const unlessCanceled =
  (canceled: Effect.Effect<unknown> | undefined) =>
  <A, E, R>(answer: Effect.Effect<A, E, R>): Effect.Effect<A, E | MessageCanceled, R> =>
    canceled === undefined
      ? answer
      : Effect.raceFirst(
          answer,
          Effect.flatMap(canceled, () => new MessageCanceled({ reason: "the message was canceled" }))
        )

interface TurnOptions {
  readonly isResumable: boolean
  readonly invocation: ToolInvocation | undefined
  /** Completes when the turn must be canceled. */
  readonly canceled?: Effect.Effect<unknown> | undefined
}

/** Processes accepted messages: one turn of a session at a time, in order, until the reply or the failure is stored. */
export class ConversationTurns extends Effect.Service<ConversationTurns>()("@berth/ConversationTurns", {
  scoped: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const manager = yield* AgentManager
    const turns = yield* TurnRepository
    const settlement = yield* TurnSettlement
    const ids = yield* IdGenerator
    const memories = yield* Memories
    const transaction = yield* Transaction
    const streams = yield* AnswerStreams
    const readPartialAnswer = yield* makePartialAnswers
    const stops = yield* TurnStops
    const queue = yield* TurnQueue.make
    const promptsOf = yield* makeAttachmentPrompts
    const withOwnerLock = yield* OwnerLocks.make

    /** Stores the ends of a user's turns in sequence: concurrent ones would each hold a connection to wait for units. */
    const storeEnd = <A, E>({ userId }: Message, end: Effect.Effect<A, E>) =>
      withOwnerLock(userId, transaction.run(end))

    const holdLease = yield* makeSharedRenewal((held: ReadonlyArray<MessageId>) =>
      Effect.flatMap(DateTime.now, (now) => turns.renewLeases(held, DateTime.addDuration(now, leaseDuration)))
    )

    const readContext = Effect.fnUntraced(function* (message: Message) {
      const { history, ...recalled } = yield* memories.recallForTurn(message)
      const prompts = yield* promptsOf(message, history, message)
      return { recalled, isNext: history.every(({ state }) => state !== "pending"), ...prompts }
    })

    /**
     * Waits for the session's earlier turns, then returns the context of this turn. The limit of pending messages is
     * below that of the history.
     */
    const awaitContext = (message: Message, ticket: TurnQueue.TurnTicket) => {
      const read = readContext(message)
      const awaitNext = (polls: number): Effect.Effect<void> =>
        Effect.flatMap(Effect.zipRight(ticket.wait(polls), repository.isNext(message)), (isNext) =>
          isNext ? Effect.void : awaitNext(polls + 1)
        )
      return Effect.flatMap(read, (context) =>
        context.isNext ? Effect.succeed(context) : Effect.zipRight(awaitNext(0), read)
      )
    }

    const chat = (
      message: Message,
      { before, prompted, recalled }: Effect.Effect.Success<ReturnType<typeof awaitContext>>,
      invocation: ToolInvocation | undefined
    ) =>
      manager.chat(message.userId, {
        agentId: message.agentId,
        sessionId: message.sessionId,
        messageId: message.id,
        history: fitHistory(before).map(({ content, images, sender, seq }) => ({
          seq,
          role: toChatRole(sender),
          content,
          ...(images.length === 0 ? {} : { images })
        })),
        message: prompted.content,
        reportsTools: true,
        ...recalled,
        ...(prompted.images.length === 0 ? {} : { images: prompted.images }),
        ...(invocation === undefined ? {} : { invocation })
      })

    const answer = Effect.fnUntraced(function* (
      message: Message,
      ticket: TurnQueue.TurnTicket,
      publication: AnswerPublication,
      { invocation, isResumable }: TurnOptions
    ) {
      let end: Extract<TurnEvent, { readonly type: "done" }> | undefined
      let text = ""
      const toolCalls = new Map<string, ToolActivity>()
      // Hot path: most events are deltas, which require no Effect.
      const handle = (events: ReadonlyArray<TurnEvent>): Effect.Effect<void> | undefined => {
        const parts: Array<string | ToolActivity> = []
        let stored: Effect.Effect<void> | undefined
        for (const event of events)
          if (event.type === "delta") {
            parts.push(event.text)
            text += event.text
          } else if (event.type === "tool") {
            // The owner controls the code of an instance, so its reports are bounded here.
            const call = shortenToolActivity(event.call)
            if (toolCalls.size >= maximumToolActivities && !toolCalls.has(call.id)) continue
            parts.push(call)
            toolCalls.set(call.id, call)
          } else if (event.type === "compacted") stored = memories.storeSummary(message, event)
          else end = event
        const published = parts.length === 0 ? [] : publication.publish(parts)
        if (isResumable) streams.append(message.id, published)
        return stored
      }
      const receive = Effect.flatMap(awaitContext(message, ticket), (context) =>
        scopedDirectly(Effect.flatMap(chat(message, context, invocation), (events) => forEachBatch(events, handle)))
      )
      const received = yield* stops.runUnlessStopped(message.id, receive)
      const isStopped = Option.isNone(received) && end === undefined
      if (isStopped && text.trim() === "")
        return yield* new AnswerStopped({ reason: "it was stopped before the agent answered" })
      if (isStopped) yield* awaitOpenCalls(turns, toTurn(message))
      else if (end === undefined) return yield* new MessageUnanswered({ reason: "the agent stopped answering" })
      const { model, provider, reply: content } = end ?? { reply: text }
      const stored = {
        id: MessageId.make(yield* ids.next("msg")),
        content,
        deltaCount: publication.deltaCount(),
        answeredBy: model === undefined || provider === undefined ? undefined : { model, provider },
        isStopped,
        toolCalls: limitStoredActivities([...toolCalls.values()].map(endToolCall))
      }
      yield* streams.flush(message.id)
      const completed = yield* Effect.uninterruptible(repository.completeTurn(message, stored, settlement.messagePrice))
      // A conversation deleted during the answer is settled too. An abandoned turn has already ended.
      const answered = Option.isSome(completed)
        ? completed
        : yield* storeEnd(
            message,
            Effect.flatMap(settlement.complete(message.id, stored.answeredBy?.model), (cost) =>
              repository.storeReply(message, { ...stored, cost: Option.getOrUndefined(cost) })
            )
          )
      const reply = yield* Effect.mapError(answered, () => new MessageCanceled({ reason: "the message was given up" }))
      yield* logInfoWith("Message answered", {
        messageId: message.id,
        agentId: message.agentId,
        userId: message.userId,
        model,
        provider
      })
      return reply
    }, withExportedSpan("ConversationTurns.answer"))

    /** Retried, since the cause of the failure may also prevent its storage. */
    const storeFailure = (message: Message, failure: Omit<MessageFailure, "callBegun">, callsEnded: boolean) =>
      Effect.zipRight(
        awaitOpenCalls(turns, toTurn(message)),
        Effect.flatMap(readPartialAnswer(message.id), (partial) =>
          storeEnd(
            message,
            Effect.flatMap(settlement.fail(message.id, { callsEnded }), (ended) =>
              repository.markFailed(
                message.id,
                {
                  ...failure,
                  callBegun: Option.match(ended, { onNone: () => true, onSome: ({ callBegun }) => callBegun })
                },
                partial
              )
            )
          )
        )
      ).pipe(retryOverOutage)

    const handleFailure = Effect.fnUntraced(function* (
      message: Message,
      publication: AnswerPublication,
      cause: Cause.Cause<{ readonly _tag: string; readonly reason: string }>
    ) {
      const { agentId, id: messageId, userId } = message
      const reason = describeFailure(cause)
      const tag = Option.getOrUndefined(Cause.failureOption(cause))?._tag
      const isStopped = tag === "AnswerStopped"
      const log = isStopped
        ? Effect.logInfo("Answer stopped before its first text")
        : tag === "MessageCanceled"
          ? Effect.logInfo("Message canceled")
          : Effect.logError("Message not answered", cause)
      yield* Effect.annotateLogs(log, { messageId, agentId, userId, reason })
      yield* streams.flush(messageId)
      const failure = { reason, deltaCount: publication.deltaCount(), isStopped }
      yield* storeFailure(message, failure, tag === "BackendUnavailable")
      yield* publication.fail(reason)
    })

    /** Runs the turn of a message and publishes its answer. The turn is settled or released, even at a shutdown. */
    const run = (message: Message, publication: AnswerPublication, options: TurnOptions) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.zipRight(holdLease(message.id), queue.enter(message.sessionId, message.seq)), (ticket) =>
          answer(message, ticket, publication, options).pipe(
            unlessCanceled(options.canceled),
            restore,
            Effect.matchCauseEffect({
              onSuccess: publication.complete,
              onFailure: (cause) => handleFailure(message, publication, cause)
            }),
            Effect.catchAllCause((cause) => Effect.logError("Turn failed unexpectedly", cause)),
            Effect.ensuring(publication.fail("an internal error"))
          )
        ).pipe(scopedDirectly)
      )

    return { run }
  })
}) {}

const describeFailure = (cause: Cause.Cause<{ readonly _tag: string; readonly reason: string }>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? "the service is shutting down" : "an internal error"),
    onSome: ({ reason }) => reason
  })
