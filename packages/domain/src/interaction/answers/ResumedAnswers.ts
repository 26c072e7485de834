import { Effect, type Stream } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { Message } from "../Conversation.ts"
import { MessageNotFound } from "../ConversationErrors.ts"
import { ConversationRepository } from "../conversations/ConversationRepository.ts"
import type { AnswerEvent, AnswerPosition } from "./AnswerEvent.ts"
import { computeAnswerStep, followAnswer } from "./AnswerReplay.ts"
import { AnswerStreams } from "./AnswerStreams.ts"

export interface ResumedAnswer {
  readonly opening: {
    readonly message: Message
    /** The position is that of the end: no event follows. */
    readonly isOver: boolean
  }
  readonly events: Stream.Stream<AnswerEvent>
}

/** Answers that a client goes on reading where it stopped, in any process. */
export class ResumedAnswers extends Effect.Service<ResumedAnswers>()("@berth/ResumedAnswers", {
  effect: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const streams = yield* AnswerStreams

    /** Returns the stored deltas behind the position and what follows. With pruned deltas only the end follows. */
    const resume = Effect.fn("ResumedAnswers.resume")(function* (userId: UserId, { after, messageId }: AnswerPosition) {
      const found = yield* repository.findMessage(userId, messageId)
      const message = yield* Effect.mapError(found, () => new MessageNotFound())
      const { events, isDone } = computeAnswerStep(yield* streams.read(messageId, after), after)
      return {
        opening: { message, isOver: isDone && events.length === 0 },
        events: followAnswer((position) => streams.read(messageId, position), after)
      } satisfies ResumedAnswer
    })

    return { resume }
  })
}) {}
