import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { PaymentDispatch } from "@berth/domain/wallets/payments/PaymentDispatch"
import type { WalletPayment } from "@berth/domain/wallets/payments/WalletPayment"
import { WalletPayments } from "@berth/domain/wallets/payments/WalletPayments"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

const toView = ({ amount, createdAt, id, kind, payee, reason, resource, signature, status }: WalletPayment) => ({
  id,
  kind,
  status,
  amount: String(amount),
  payee,
  resource,
  reference: signature?.reference ?? null,
  reason,
  createdAt
})

export const layer = group(WebApi, "agentWallet", (handlers) =>
  Effect.gen(function* () {
    const dispatch = yield* PaymentDispatch
    const payments = yield* WalletPayments

    return handlers
      .handle("readLimits", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          return { limits: yield* payments.findLimits(agent.id) }
        })
      )
      .handle("changeLimits", ({ payload }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          yield* payments.changeLimits(yield* CurrentUser, agent.id, payload)
          return { limits: payload }
        })
      )
      .handle("listPayments", ({ urlParams: page }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const listed = yield* payments.list(agent.id, page)
          return { payments: listed.payments.map(toView), total: listed.total, ...page }
        })
      )
      .handle("decidePayment", ({ payload: { action, paymentId } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          if (action === "refuse") return { payment: toView(yield* payments.refuse(agent.id, paymentId)) }
          const approved = yield* payments
            .approve(yield* CurrentUser, agent.id, paymentId)
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
          return {
            payment: toView(approved.status === "reserved" ? yield* dispatch.advance(approved) : approved)
          }
        })
      )
  })
)
