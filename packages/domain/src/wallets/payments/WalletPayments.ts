import { DateTime, Duration, Effect, Option } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { CurrentUser } from "../../sessions/CurrentUser.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { decideSpend, raisesLimits, SpendDecision, type SpendLimits } from "./SpendLimits.ts"
import {
  PendingPaymentLimitReached,
  SpendLimitExceeded,
  WalletPaymentNotFound,
  WalletPaymentNotPending
} from "./WalletPaymentErrors.ts"
import { maximumPendingPayments, type WalletPayment, WalletPaymentId, type WantedPayment } from "./WalletPayment.ts"
import { WalletPaymentRepository } from "./WalletPaymentRepository.ts"

/** Time after which pending payments and unused approvals expire. */
const approvalLifetime = Duration.hours(24)

export interface PayingTurn {
  readonly userId: UserId
  readonly agentId: AgentId
  readonly turnId: string
}

/** Decides on payments of agents. Only the owner sets limits; the wallet's lock makes every decision exact. */
export class WalletPayments extends Effect.Service<WalletPayments>()("@berth/WalletPayments", {
  effect: Effect.gen(function* () {
    const ids = yield* IdGenerator
    const limiter = yield* RateLimiter
    const repository = yield* WalletPaymentRepository
    const sessions = yield* Sessions
    const transaction = yield* Transaction

    const approvedSince = Effect.map(DateTime.now, DateTime.subtractDuration(approvalLifetime))

    const decide = Effect.fnUntraced(function* (agentId: AgentId, amount: bigint, isApproved: boolean) {
      const limits = yield* repository.findLimits(agentId)
      const spent = yield* repository.sumSpent(agentId, yield* DateTime.now)
      const decision = decideSpend(limits, spent, amount, isApproved)
      return decision._tag === "Refused" ? yield* new SpendLimitExceeded({ limit: decision.limit }) : decision
    })

    const reserve = Effect.fnUntraced(function* (agentId: AgentId, payment: WalletPayment) {
      yield* decide(agentId, payment.amount, true)
      const reserved = yield* repository.changeStatus(payment, "reserved")
      return reserved ? { ...payment, status: "reserved" as const } : yield* new WalletPaymentNotPending()
    })

    const requirePlace = Effect.fnUntraced(function* (agentId: AgentId) {
      const pending = yield* repository.countPending(agentId, yield* approvedSince)
      if (pending >= maximumPendingPayments) return yield* new PendingPaymentLimitReached()
    })

    /** Reserves a payment, or leaves it pending. Equal calls in one turn are the same payment. */
    const request = Effect.fn("WalletPayments.request")(function* (turn: PayingTurn, requested: WantedPayment) {
      yield* repository.lockWallet(turn.userId)
      const repeated = yield* repository.findRepeated({ ...turn, ...requested }, yield* approvedSince)
      if (Option.isSome(repeated)) {
        if (repeated.value.status !== "approved") return repeated.value
        const approved = { ...repeated.value, turnId: turn.turnId }
        // Repetitions of the call in this turn find the approved payment.
        yield* repository.moveToTurn(approved)
        return yield* Effect.catchTag(reserve(turn.agentId, approved), "WalletPaymentNotPending", Effect.die)
      }
      const isAllowed = SpendDecision.$is("Allowed")(yield* decide(turn.agentId, requested.amount, false))
      if (!isAllowed) yield* requirePlace(turn.agentId)
      const payment: WalletPayment = {
        ...requested,
        ...turn,
        id: WalletPaymentId.make(yield* ids.next("pay")),
        status: isAllowed ? "reserved" : "pending",
        signature: null,
        reason: null,
        createdAt: yield* DateTime.now
      }
      yield* repository.insert(payment)
      yield* Effect.logInfo("Wallet payment recorded").pipe(
        Effect.annotateLogs({ paymentId: payment.id, status: payment.status, amount: String(payment.amount) })
      )
      return payment
    }, transaction.run)

    const requirePending = Effect.fnUntraced(function* (agentId: AgentId, id: WalletPaymentId) {
      const payment = yield* Effect.mapError(yield* repository.find(agentId, id), () => new WalletPaymentNotFound())
      const isCurrent = DateTime.greaterThan(payment.createdAt, yield* approvedSince)
      return payment.status === "pending" && isCurrent ? payment : yield* new WalletPaymentNotPending()
    })

    /** Raising a limit requires a recent sign-in. */
    const changeLimits = Effect.fn("WalletPayments.changeLimits")(function* (
      { sessionId }: Pick<CurrentUser["Type"], "sessionId">,
      agentId: AgentId,
      limits: SpendLimits
    ) {
      if (raisesLimits(yield* repository.findLimits(agentId), limits)) yield* sessions.requireRecent(sessionId)
      yield* repository.saveLimits(agentId, limits)
    })

    /**
     * Reserves a transfer at once; a paid request waits until the agent repeats its call. Requires a recent sign-in.
     */
    const approve = Effect.fn("WalletPayments.approve")(function* (
      { sessionId, user }: CurrentUser["Type"],
      agentId: AgentId,
      id: WalletPaymentId
    ) {
      yield* sessions.requireRecent(sessionId)
      yield* limiter.take("wallet", user.id)
      return yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockWallet(user.id)
          const payment = yield* requirePending(agentId, id)
          if (payment.kind === "send_usdc") return yield* reserve(agentId, payment)
          yield* decide(agentId, payment.amount, true)
          yield* repository.changeStatus(payment, "approved")
          return { ...payment, status: "approved" as const }
        })
      )
    })

    const refuse = Effect.fn("WalletPayments.refuse")(function* (agentId: AgentId, id: WalletPaymentId) {
      const payment = yield* requirePending(agentId, id)
      if (!(yield* repository.changeStatus(payment, "refused"))) return yield* new WalletPaymentNotPending()
      return { ...payment, status: "refused" as const }
    })

    return {
      request,
      approve,
      refuse,
      findLimits: repository.findLimits,
      changeLimits,
      list: repository.list,
      revoke: repository.revoke
    }
  })
}) {}
