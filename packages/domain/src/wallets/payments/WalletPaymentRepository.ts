import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { SpendLimits, SpentAmounts } from "./SpendLimits.ts"
import type { SignedPayment, WalletPayment, WalletPaymentId, WalletPaymentStatus } from "./WalletPayment.ts"

/** Limits and payments of agents. */
export class WalletPaymentRepository extends Context.Tag("@berth/WalletPaymentRepository")<
  WalletPaymentRepository,
  {
    /** `noSpending` for an agent without limits. */
    readonly findLimits: (agentId: AgentId) => Effect.Effect<SpendLimits>
    readonly saveLimits: (agentId: AgentId, limits: SpendLimits) => Effect.Effect<void>
    /** Orders the payments of a wallet until the end of the running transaction. */
    readonly lockWallet: (userId: UserId) => Effect.Effect<void>
    readonly sumSpent: (agentId: AgentId, now: DateTime.Utc) => Effect.Effect<SpentAmounts>
    readonly countPending: (agentId: AgentId, since: DateTime.Utc) => Effect.Effect<number>
    readonly insert: (payment: WalletPayment) => Effect.Effect<void>
    readonly find: (agentId: AgentId, id: WalletPaymentId) => Effect.Effect<Option.Option<WalletPayment>>
    /** The payment of the same call in the same turn, else one that the owner has approved since `approvedSince`. */
    readonly findRepeated: (
      wanted: Pick<WalletPayment, "turnId" | "fingerprint"> & { readonly agentId: AgentId },
      approvedSince: DateTime.Utc
    ) => Effect.Effect<Option.Option<WalletPayment>>
    /** To a turn without a payment of the same call. Joins the running transaction. */
    readonly moveToTurn: (payment: Pick<WalletPayment, "id" | "turnId">) => Effect.Effect<void>
    /** Newest first, with the full count. */
    readonly list: (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly payments: ReadonlyArray<WalletPayment>; readonly total: number }>
    /** Reserved and sent payments that nothing has touched since `before`, an equal share of every user. */
    readonly listUnfinished: (before: DateTime.Utc, limit: number) => Effect.Effect<ReadonlyArray<WalletPayment>>
    /** Compare-and-set on the status; false when another process was first. */
    readonly changeStatus: (
      payment: Pick<WalletPayment, "id" | "status">,
      to: WalletPaymentStatus,
      reason?: string
    ) => Effect.Effect<boolean>
    /** Reserved to sent, with the signed payment. */
    readonly markSent: (id: WalletPaymentId, signature: SignedPayment) => Effect.Effect<boolean>
    /** Highest nonce of transactions that were sent; null for none. */
    readonly findLastNonce: (userId: UserId) => Effect.Effect<number | null>
    /** Postpones the recovery of a payment. */
    readonly touch: (id: WalletPaymentId) => Effect.Effect<void>
    /** Limits back to zero, and refuses what waits. Joins the running transaction. */
    readonly revoke: (userId: UserId) => Effect.Effect<void>
    /** Deletes decided payments, and undecided ones that lapsed, older than `confirmed` or `unpaid`; keeps the sum of what was spent. */
    readonly prune: (before: {
      readonly confirmed: DateTime.Utc
      readonly unpaid: DateTime.Utc
    }) => Effect.Effect<number>
  }
>() {}
