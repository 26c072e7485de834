import type { Option } from "effect"
import type { ReservationId } from "../../billing/units/Reservation.ts"
import type { Units } from "../../shared/Money.ts"

/** Payment of a turn without own keys. Without a reservation, only the turn's budget and limit bound it. */
export interface TurnPayment {
  readonly reservation: Option.Option<ReservationId>
  /** True if no units or credits were left, so only the owner's own keys may pay. */
  readonly ownKeysOnly: boolean
  /** Maximum units of the turn, for example of a task paid by a machine payment or a delegation. */
  readonly unitLimit?: Units | undefined
}
