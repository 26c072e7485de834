import { type DateTime, Duration, Schema } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export const WalletPaymentId = Schema.String.pipe(Schema.brand("WalletPaymentId")).annotations({
  identifier: "WalletPaymentId"
})
export type WalletPaymentId = typeof WalletPaymentId.Type

/** `send_usdc`: a transfer of the wallet. `x402`: an authorization that the paid service submits. */
export const WalletPaymentKind = Schema.Literal("send_usdc", "x402")
export type WalletPaymentKind = typeof WalletPaymentKind.Type

/**
 * `pending`: requires the owner's approval. `sent`: the signed payment is stored; from then on it is repeated, never
 * replaced. `failed`: moved nothing and never will.
 */
export const WalletPaymentStatus = Schema.Literal(
  "pending",
  "approved",
  "refused",
  "reserved",
  "sent",
  "confirmed",
  "failed"
)
export type WalletPaymentStatus = typeof WalletPaymentStatus.Type

const next: Record<WalletPaymentStatus, ReadonlyArray<WalletPaymentStatus>> = {
  pending: ["approved", "refused", "reserved"],
  approved: ["reserved", "refused"],
  refused: [],
  reserved: ["sent", "failed"],
  sent: ["confirmed", "failed"],
  confirmed: [],
  failed: []
}

export const canChange = (from: WalletPaymentStatus, to: WalletPaymentStatus): boolean => next[from].includes(to)

/** Statuses that count against the limits. */
export const countedStatuses = ["reserved", "sent", "confirmed"] as const satisfies ReadonlyArray<WalletPaymentStatus>

/** Maximum payments of an agent with pending approval. */
export const maximumPendingPayments = 20

/** Retention of a confirmed payment in the ledger; its amount still counts against the agent's limit. */
export const confirmedPaymentRetention = Duration.days(400)
/** Retention of a payment that moved nothing. */
export const unpaidPaymentRetention = Duration.days(30)

export interface WantedPayment {
  readonly kind: WalletPaymentKind
  /** Micro USDC. */
  readonly amount: bigint
  readonly payee: WalletAddress
  /** URL of the paid service; null for a transfer. */
  readonly resource: string | null
  /** Equal for equal calls, which are one payment within a turn. */
  readonly fingerprint: string
}

/** The signed payment as sent. */
export interface SignedPayment {
  /** Raw transaction, or the payment header of x402. */
  readonly signed: string
  /** Hash of the transaction, or the nonce of the authorization. */
  readonly reference: string
  /** Nonce of the transaction; null for an authorization. */
  readonly nonce: number | null
  /** Seconds; the authorization expires at this time. */
  readonly validBefore: number | null
}

export interface WalletPayment extends WantedPayment {
  readonly id: WalletPaymentId
  readonly userId: UserId
  /** Null for a deleted agent. */
  readonly agentId: AgentId | null
  readonly turnId: string
  readonly status: WalletPaymentStatus
  readonly signature: SignedPayment | null
  readonly reason: string | null
  readonly createdAt: DateTime.Utc
}
