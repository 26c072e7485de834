import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = Duration.seconds(5)
/** No call takes this long: its reservation was left behind. */
const staleAfter = Duration.hours(1)

/** Fails the messages whose process is gone, and gives back what was reserved for them. */
export const recoverAbandonedTurns = Effect.gen(function* () {
  const conversations = yield* ConversationRepository
  const charging = yield* UnitLedger
  const transaction = yield* Transaction
  const now = yield* DateTime.now

  const abandoned = yield* transaction.run(
    Effect.gen(function* () {
      const messages = yield* conversations.failAbandoned(now)
      yield* Effect.forEach(
        messages,
        ({ reservation }) => Option.match(reservation, { onNone: () => Effect.void, onSome: charging.release }),
        { discard: true }
      )
      return messages
    })
  )
  if (abandoned.length > 0)
    yield* Effect.logWarning("Messages were given up, since the process that worked on them is gone").pipe(
      Effect.annotateLogs({ messageIds: abandoned.map(({ id }) => id) })
    )

  const released = yield* charging.releaseStale(staleAfter, now)
  if (released > 0)
    yield* Effect.logWarning("Reservations that nobody settled were released").pipe(
      Effect.annotateLogs({ reservations: released })
    )
}).pipe(Effect.withTracerEnabled(false))

export const layer = Layer.scopedDiscard(runRecurringTask("give up abandoned turns", every, recoverAbandonedTurns))
