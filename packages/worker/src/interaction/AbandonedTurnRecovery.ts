import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { makePartialAnswers } from "@berth/domain/interaction/answers/PartialAnswers"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { TurnSettlement } from "@berth/domain/interaction/turns/TurnSettlement"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = Duration.seconds(5)

/**
 * Ends the turns of dead processes: fails their messages, keeps the texts so far, and settles or releases their
 * reservations.
 */
export const recoverAbandonedTurns = Effect.gen(function* () {
  const conversations = yield* ConversationRepository
  const turns = yield* TurnRepository
  const settlement = yield* TurnSettlement
  const ledger = yield* UnitLedger
  const transaction = yield* Transaction
  const readPartialAnswer = yield* makePartialAnswers
  const now = yield* DateTime.now

  const recover = (turnId: string) =>
    transaction.run(
      Effect.gen(function* () {
        const ended = yield* settlement.fail(turnId, { abandonedAt: now, callsEnded: true })
        if (Option.isSome(ended))
          yield* conversations.markFailed(
            MessageId.make(turnId),
            { callBegun: ended.value.callBegun },
            yield* readPartialAnswer(MessageId.make(turnId))
          )
        return Option.isSome(ended)
      })
    )
  const abandoned = yield* turns.listAbandoned(now)
  const outcomes = yield* Effect.forEach(abandoned, recover)
  const recovered = abandoned.filter((_, at) => outcomes[at])
  if (recovered.length > 0)
    yield* Effect.logWarning("Turns of dead processes ended").pipe(Effect.annotateLogs({ turnIds: recovered }))

  const closed = yield* ledger.closeAbandoned(now)
  if (closed > 0)
    yield* Effect.logWarning("Reservations of dead processes closed").pipe(
      Effect.annotateLogs({ reservations: closed })
    )
}).pipe(Effect.withTracerEnabled(false))

export const layer = Layer.scopedDiscard(
  runRecurringTask("recover abandoned turns", every, recoverAbandonedTurns)
).pipe(Layer.provide(TurnSettlement.Default))
