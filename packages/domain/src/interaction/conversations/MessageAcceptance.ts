import { DateTime, Effect, Option } from "effect"
import { Agents } from "../../agents/Agents.ts"
import { OwnerModels } from "../../ai/models/OwnerModels.ts"
import { BudgetExceeded } from "../../billing/budgets/Budget.ts"
import { UnitsExhausted } from "../../billing/units/Reservation.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import type { ToolInvocation } from "../../instances/AgentRuntime.ts"
import { leaseDuration } from "../../limits/Lease.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { MessageOrigin } from "../../shared/Channel.ts"
import { noUnits, type Units } from "../../shared/Money.ts"
import * as OwnerLocks from "../../shared/OwnerLocks.ts"
import type { User } from "../../shared/User.ts"
import type { Attachment } from "../attachments/Attachment.ts"
import type { ChatSession, Message, MessageId } from "../Conversation.ts"
import type { TurnPayment } from "../turns/TurnPayment.ts"
import { messageUnits } from "../turns/TurnPricing.ts"
import { ConversationRepository } from "./ConversationRepository.ts"

/** A message with an id from its sender, for idempotent repetitions. */
export interface KeyedMessage {
  readonly id: MessageId
  readonly session: ChatSession
  readonly message: string
  readonly topic?: string | null
  readonly platform: MessageOrigin
  readonly attachments?: ReadonlyArray<Attachment> | undefined
  /** Tool to invoke instead of the model. */
  readonly invocation?: ToolInvocation | undefined
  readonly repeats?: MessageId | undefined
  /** Maximum units of the turn. */
  readonly unitLimit?: Units | undefined
}

/** Work in the transaction of a message. */
export interface MessageHooks<E> {
  /** Runs before the message and its payment are stored. */
  readonly before: Effect.Effect<void, E>
  /** Runs after the message is stored. */
  readonly alongside: Effect.Effect<void, E>
}

const isSpendingRefused = (error: unknown): error is UnitsExhausted | BudgetExceeded =>
  error instanceof UnitsExhausted || error instanceof BudgetExceeded

const pendingLimits = { session: 16, user: 64 }

/** Accepts a message: stores it with its turn and the reservation of its first unit. */
export const makeMessageAcceptance = Effect.gen(function* () {
  const repository = yield* ConversationRepository
  const ledger = yield* UnitLedger
  const agents = yield* Agents
  const models = yield* OwnerModels
  const transaction = yield* Transaction
  const withOwnerLock = yield* OwnerLocks.make

  /**
   * Stores the message, its turn, the reservation and the hooks' rows atomically. A message with a new id holds no lock
   * on its user's balance.
   */
  const store = Effect.fnUntraced(function* <E, F>(
    { attachments, id, message: content, platform, repeats, session, topic = null, unitLimit }: KeyedMessage,
    pay: Effect.Effect<TurnPayment, E>,
    hooks: MessageHooks<F> | undefined
  ) {
    const leaseUntil = DateTime.addDuration(yield* DateTime.now, leaseDuration)
    const append = (payment: TurnPayment) =>
      repository.appendUserMessage(
        { id, sessionId: session.id, content, topic, platform, attachments, repeats },
        Object.assign({}, payment, { unitLimit, leaseUntil }),
        pendingLimits
      )
    return yield* hooks === undefined
      ? Effect.flatMap(pay, (payment) =>
          Effect.onError(append(payment), () =>
            Effect.transposeMapOption(payment.reservation, (reserved) => ledger.close(reserved, noUnits))
          )
        )
      : repository
          .lockNewMessages(session.userId)
          .pipe(
            Effect.zipRight(hooks.before),
            Effect.zipRight(pay),
            Effect.flatMap(append),
            Effect.zipLeft(hooks.alongside),
            transaction.run
          )
  })

  /** Stores a message with a new id, paid by the day's units. None, without any change, if that is impossible. */
  const storePaid = Effect.fnUntraced(function* (
    user: User,
    { attachments, id, message: content, platform, session, topic = null, unitLimit }: KeyedMessage,
    append: typeof repository.appendPaidMessage
  ) {
    const payment = ledger.describeReservation(user, messageUnits, session.agentId)
    if (Option.isNone(payment)) return Option.none()
    return yield* append(
      { id, sessionId: session.id, content, topic, platform, attachments },
      { unitLimit, leaseUntil: DateTime.addDuration(yield* DateTime.now, leaseDuration) },
      payment.value,
      pendingLimits
    )
  })

  /** Without sufficient units, credits or budgets, accepts only a message that the user's own keys answer. */
  const acceptInSteps = <E>(user: User, toSend: KeyedMessage, hooks: MessageHooks<E> | undefined) =>
    store(
      toSend,
      Effect.map(ledger.reserveUnannounced(user, messageUnits, toSend.id, toSend.session.agentId), (reservation) => ({
        reservation,
        ownKeysOnly: false
      })),
      hooks
    ).pipe(
      // Not by its tag, since errors of `alongside` may have the same.
      Effect.catchIf(isSpendingRefused, (refusal) =>
        Effect.gen(function* () {
          const { customModel, model } = yield* agents.find(user.id, toSend.session.agentId)
          if (yield* models.isCoveredByOwnKeys(user.id, customModel ?? model))
            return yield* store(toSend, Effect.succeed({ reservation: Option.none(), ownKeysOnly: true }), hooks)
          yield* ledger.announceExhaustion(user, refusal)
          return yield* refusal
        })
      )
    )

  return <E>(user: User, toSend: KeyedMessage, hooks: MessageHooks<E> | undefined) => {
    const inSteps = () => acceptInSteps(user, toSend, hooks)
    const storePaidOr = <F>(append: typeof repository.appendPaidMessage, other: () => Effect.Effect<Message, F>) =>
      Effect.flatMap(storePaid(user, toSend, append), Option.match({ onNone: other, onSome: Effect.succeed }))
    // One message of a user at a time: concurrent messages would each hold a connection while they wait for the lock.
    return hooks === undefined
      ? storePaidOr(repository.appendWithOthers, () =>
          withOwnerLock(user.id, storePaidOr(repository.appendPaidMessage, inSteps))
        )
      : withOwnerLock(user.id, inSteps())
  }
})
