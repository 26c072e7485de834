import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = Duration.seconds(5)

/** Fails the messages of dead processes and releases their reservations. */
export const recoverAbandonedTurns = Effect.gen(function* () {
  const conversations = yield* ConversationRepository
  const ledger = yield* UnitLedger
  const transaction = yield* Transaction
  const now = yield* DateTime.now

  const abandoned = yield* transaction.run(
    Effect.gen(function* () {
      const messages = yield* conversations.failAbandoned(now)
      yield* Effect.forEach(
        messages,
        ({ reservation }) => Option.match(reservation, { onNone: () => Effect.void, onSome: ledger.release }),
        { discard: true }
      )
      return messages
    })
  )
  if (abandoned.length > 0)
    yield* Effect.logWarning("Messages of dead processes failed").pipe(
      Effect.annotateLogs({ messageIds: abandoned.map(({ id }) => id) })
    )

  const released = yield* ledger.releaseAbandoned(now)
  if (released > 0)
    yield* Effect.logWarning("Reservations of dead processes released").pipe(
      Effect.annotateLogs({ reservations: released })
    )
}).pipe(Effect.withTracerEnabled(false))

export const layer = Layer.scopedDiscard(runRecurringTask("recover abandoned turns", every, recoverAbandonedTurns))
