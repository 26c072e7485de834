import type { Option } from "effect"
import type { ReservationId } from "../../billing/units/Reservation.ts"
import type { Units } from "../../shared/Money.ts"

/** Payment of a turn besides own keys. Without a reservation the turn's budget and its limit alone bound it. */
export interface TurnPayment {
  readonly reservation: Option.Option<ReservationId>
  /** True when neither units nor credits were left: only the owner's own keys may pay. */
  readonly ownKeysOnly: boolean
  /** Most units of the turn, for example of a task paid by a machine payment or a delegation. */
  readonly unitLimit?: Units | undefined
}
