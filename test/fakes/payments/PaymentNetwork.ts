import type { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import type { Effect } from "effect"

/** A transfer that a payer signs; of the network's first token when it names none. */
export interface TransferRequest {
  readonly token?: string
  readonly to: string
  readonly amount: bigint
  readonly memo?: string
}

/** Deviations of a transaction. */
export interface TransactionOverrides {
  readonly chainId?: number
  /** Seconds since the epoch. */
  readonly validAfter?: number
  readonly validBefore?: number
  /** Its payer has nothing. */
  readonly isUnfunded?: boolean
  /** Its payer has enough for the fee and not for the transfer. */
  readonly reverts?: boolean
  /** It wants somebody else to pay the fee. */
  readonly needsFeePayer?: boolean
}

/** A chain that tests pay on, and the port's view of it. */
export interface PaymentNetwork {
  readonly chain: PaymentChain["Type"]
  /** The same when it cannot be reached. */
  readonly withoutNode: PaymentChain["Type"]
  readonly chainId: number
  readonly token: string
  readonly otherToken: string
  /** Signed by a payer of its own, who has the money; sent by nobody. */
  readonly sign: (transfers: ReadonlyArray<TransferRequest>, oddities?: TransactionOverrides) => Effect.Effect<string>
}
