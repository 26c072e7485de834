import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { SpendLimits, SpentAmounts } from "./SpendLimits.ts"
import type { SignedPayment, WalletPayment, WalletPaymentId, WalletPaymentStatus } from "./WalletPayment.ts"

export class WalletPaymentRepository extends Context.Tag("@berth/WalletPaymentRepository")<
  WalletPaymentRepository,
  {
    /** `noSpending` for an agent without limits. */
    readonly findLimits: (agentId: AgentId) => Effect.Effect<SpendLimits>
    readonly saveLimits: (agentId: AgentId, limits: SpendLimits) => Effect.Effect<void>
    /** Serializes the payments of a wallet until the running transaction ends. */
    readonly lockWallet: (userId: UserId) => Effect.Effect<void>
    readonly sumSpent: (agentId: AgentId, now: DateTime.Utc) => Effect.Effect<SpentAmounts>
    readonly countPending: (agentId: AgentId, since: DateTime.Utc) => Effect.Effect<number>
    readonly insert: (payment: WalletPayment) => Effect.Effect<void>
    readonly find: (agentId: AgentId, id: WalletPaymentId) => Effect.Effect<Option.Option<WalletPayment>>
    /**
     * Returns the payment of the same call in the same turn, else one that the owner has approved since
     * `approvedSince`.
     */
    readonly findRepeated: (
      request: Pick<WalletPayment, "turnId" | "fingerprint"> & { readonly agentId: AgentId },
      approvedSince: DateTime.Utc
    ) => Effect.Effect<Option.Option<WalletPayment>>
    /** Assigns the payment to a turn without a payment of the same call. Joins the running transaction. */
    readonly moveToTurn: (payment: Pick<WalletPayment, "id" | "turnId">) => Effect.Effect<void>
    /** Newest first, with the count of all matches. */
    readonly list: (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly payments: ReadonlyArray<WalletPayment>; readonly total: number }>
    /** Reserved and sent payments last updated before `before`, an equal share per user. */
    readonly listUnfinished: (before: DateTime.Utc, limit: number) => Effect.Effect<ReadonlyArray<WalletPayment>>
    /** Compare-and-set on the status; false if another process changed it first. */
    readonly changeStatus: (
      payment: Pick<WalletPayment, "id" | "status">,
      to: WalletPaymentStatus,
      reason?: string
    ) => Effect.Effect<boolean>
    /** Changes reserved to sent and stores the signed payment. */
    readonly markSent: (id: WalletPaymentId, signature: SignedPayment) => Effect.Effect<boolean>
    /** Highest nonce of sent transactions; null without any. */
    readonly findLastNonce: (userId: UserId) => Effect.Effect<number | null>
    /** Postpones the recovery of a payment. */
    readonly touch: (id: WalletPaymentId) => Effect.Effect<void>
    /** Resets limits to zero and rejects pending payments. Joins the running transaction. */
    readonly revoke: (userId: UserId) => Effect.Effect<void>
    /**
     * Deletes decided payments, and undecided ones that expired, older than `confirmed` or `unpaid`; keeps the sum of
     * the spent amounts.
     */
    readonly prune: (before: {
      readonly confirmed: DateTime.Utc
      readonly unpaid: DateTime.Utc
    }) => Effect.Effect<number>
  }
>() {}
