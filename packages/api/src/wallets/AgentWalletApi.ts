import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { AgentId } from "@berth/domain/shared/AgentId"
import { maximumLimit } from "@berth/domain/wallets/payments/SpendLimits"
import { WalletPaymentId, WalletPaymentKind, WalletPaymentStatus } from "@berth/domain/wallets/payments/WalletPayment"
import {
  SpendLimitExceeded,
  WalletPaymentNotFound,
  WalletPaymentNotPending
} from "@berth/domain/wallets/payments/WalletPaymentErrors"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { errorBody, plainErrorBody } from "../http/ErrorBody.ts"
import { pageOf, pageQuery } from "../http/Pagination.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { RecentSignInRequiredBody, SessionAuth } from "../sessions/SessionAuth.ts"

const path = Schema.Struct({ id: AgentId })

const isMicros = (text: string) => /^(0|[1-9]\d{0,15})$/.test(text) && BigInt(text) <= maximumLimit

const Micros = Schema.transform(
  Schema.String.pipe(
    Schema.filter(isMicros, {
      message: () => `must be whole micro USDC as a decimal string, at most ${maximumLimit}`
    })
  ),
  Schema.BigIntFromSelf,
  { strict: true, decode: (text) => BigInt(text), encode: String }
)

const LimitFields = {
  perCall: Micros.annotations({ description: "Maximum of one payment" }),
  perDay: Micros.annotations({ description: "Maximum of a UTC day's payments" }),
  perAgent: Micros.annotations({ description: "Maximum of all payments of the agent" }),
  confirmAbove: Micros.annotations({ description: "Larger payments require the owner's approval" })
}
const WalletLimits = Schema.Struct(LimitFields).annotations({
  identifier: "WalletLimits",
  description: "Micro USDC as decimal strings; zero until the owner sets them"
})

const readLimits = HttpApiEndpoint.get("readLimits", "/api/agents/:id/wallet-limits")
  .setPath(path)
  .addSuccess(Schema.Struct({ limits: WalletLimits }))
  .annotate(OpenApi.Summary, "Retrieve the spend limits of an agent's wallet skill")

const changeLimits = HttpApiEndpoint.put("changeLimits", "/api/agents/:id/wallet-limits")
  .setPath(path)
  .setPayload(payload(LimitFields))
  .addSuccess(Schema.Struct({ limits: WalletLimits }))
  .addError(RecentSignInRequiredBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Set the spend limits of an agent's wallet skill")
  .annotate(
    OpenApi.Description,
    "Requires a session of the owner; neither API keys nor agents can change limits. Raising a limit requires a recent sign-in."
  )

const WalletPaymentView = Schema.Struct({
  id: WalletPaymentId,
  kind: WalletPaymentKind,
  status: WalletPaymentStatus,
  amount: Schema.String.annotations({ description: "Micro USDC" }),
  payee: WalletAddress,
  resource: Schema.NullOr(Schema.String).annotations({ description: "URL of the paid service" }),
  reference: Schema.NullOr(Schema.String).annotations({
    description: "Hash of the transaction, or nonce of the authorization"
  }),
  reason: Schema.NullOr(Schema.String),
  createdAt: Timestamp
}).annotations({ identifier: "WalletPayment" })

const listPayments = HttpApiEndpoint.get("listPayments", "/api/agents/:id/wallet-payments")
  .setPath(path)
  .setUrlParams(pageQuery)
  .addSuccess(
    pageOf({
      payments: Schema.Array(WalletPaymentView)
    })
  )
  .annotate(OpenApi.Summary, "List the payments of an agent's wallet skill")

const SpendLimitExceededBody = errorBody(SpendLimitExceeded, {
  status: 400,
  error: "Spend limit exceeded",
  message: ({ limit }) => `The payment exceeds the limit ${limit}. Change it by PUT /api/agents/:id/wallet-limits.`,
  example: new SpendLimitExceeded({ limit: "perDay" }),
  read: (message) =>
    new SpendLimitExceeded({ limit: /perDay|perAgent/.exec(message)?.[0] === "perDay" ? "perDay" : "perCall" })
})
const WalletPaymentNotFoundBody = plainErrorBody(WalletPaymentNotFound, {
  status: 404,
  error: "Payment not found",
  message: "The agent has no such payment. GET /api/agents/:id/wallet-payments lists its payments."
})
const WalletPaymentNotPendingBody = plainErrorBody(WalletPaymentNotPending, {
  status: 409,
  error: "Payment not pending",
  message: "The payment was decided before, or its 24 hours are over."
})

const decidePayment = HttpApiEndpoint.post("decidePayment", "/api/agents/:id/wallet-payments")
  .setPath(path)
  .setPayload(payload({ paymentId: WalletPaymentId, action: Schema.Literal("approve", "refuse") }))
  .addSuccess(Schema.Struct({ payment: WalletPaymentView }))
  .addError(SpendLimitExceededBody)
  .addError(WalletPaymentNotFoundBody)
  .addError(WalletPaymentNotPendingBody)
  .addError(RecentSignInRequiredBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Approve or refuse a pending payment")
  .annotate(
    OpenApi.Description,
    "Approval requires a recent sign-in. The limits apply to approved payments too. A transfer is sent at once; an approved x402 payment is made when the agent repeats its call."
  )

export class AgentWalletApi extends HttpApiGroup.make("agentWallet")
  .add(readLimits)
  .add(changeLimits)
  .add(listPayments)
  .add(decidePayment)
  .middlewareEndpoints(AgentOwner)
  .addError(InternalFailureBody) {}
