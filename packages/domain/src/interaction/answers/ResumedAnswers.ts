import { Effect, type Scope, type Stream } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { Message, MessageId } from "../Conversation.ts"
import { MessageNotFound, ResumedAnswerLimitReached } from "../ConversationErrors.ts"
import { ConversationRepository } from "../conversations/ConversationRepository.ts"
import type { AnswerEvent, AnswerPosition } from "./AnswerEvent.ts"
import { makeAnswerFollowers } from "./AnswerFollowers.ts"
import { computeAnswerStep } from "./AnswerReplay.ts"
import { AnswerStreams } from "./AnswerStreams.ts"

export interface ResumedAnswer {
  readonly opening: {
    readonly message: Message
    /** Whether the position is the end, so that no event follows. */
    readonly isOver: boolean
    /** Present if the answer has ended. */
    readonly reply: Message | undefined
  }
  readonly events: Stream.Stream<AnswerEvent>
}

/** Maximum distinct answers of a user that requests of this process resume at a time. */
const maximumResumedAnswers = 8

/** Answers that clients continue to read after a disconnect, in any process. */
export class ResumedAnswers extends Effect.Service<ResumedAnswers>()("@berth/ResumedAnswers", {
  scoped: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const streams = yield* AnswerStreams
    const { follow } = yield* makeAnswerFollowers(streams)
    const readers = new Map<UserId, Map<MessageId, number>>()

    const find = (userId: UserId, messageId: MessageId) =>
      Effect.flatMap(
        repository.findMessage(userId, messageId),
        Effect.mapError(() => new MessageNotFound())
      )

    const open = (message: Message, after: number) =>
      Effect.map(streams.read(message.id, after), (snapshot): ResumedAnswer => {
        const { events, isDone } = computeAnswerStep(snapshot, after)
        return {
          opening: {
            message,
            isOver: isDone && events.length === 0,
            reply: snapshot.state.state === "answered" ? snapshot.state.reply : undefined
          },
          events: follow(message.id, after)
        }
      })

    const enter = (userId: UserId, messageId: MessageId) =>
      Effect.suspend(() => {
        const answers = readers.get(userId) ?? new Map<MessageId, number>()
        const count = answers.get(messageId) ?? 0
        if (count === 0 && answers.size >= maximumResumedAnswers)
          return new ResumedAnswerLimitReached({ limit: maximumResumedAnswers })
        readers.set(userId, answers.set(messageId, count + 1))
        return Effect.void
      })
    const leave = (userId: UserId, messageId: MessageId) =>
      Effect.sync(() => {
        const answers = readers.get(userId)
        const count = (answers?.get(messageId) ?? 1) - 1
        if (count > 0) answers?.set(messageId, count)
        else answers?.delete(messageId)
        if (answers?.size === 0) readers.delete(userId)
      })

    /**
     * Returns the stored deltas after the position and the following events. If deltas were pruned, only the end
     * follows.
     */
    const resume = Effect.fn("ResumedAnswers.resume")(function* (userId: UserId, { after, messageId }: AnswerPosition) {
      return yield* open(yield* find(userId, messageId), after)
    })

    /** As `resume`, for a request; its scope counts against the user's limit of resumed answers. */
    const resumeForRequest = Effect.fn("ResumedAnswers.resumeForRequest")(function* (
      userId: UserId,
      { after, messageId }: AnswerPosition
    ): Effect.fn.Return<ResumedAnswer, MessageNotFound | ResumedAnswerLimitReached, Scope.Scope> {
      const message = yield* find(userId, messageId)
      yield* Effect.acquireRelease(enter(userId, messageId), () => leave(userId, messageId))
      return yield* open(message, after)
    })

    return { resume, resumeForRequest }
  })
}) {}
