import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { Context, Effect, Layer } from "effect"

/** Process that settles the reservations: `reservation_holders.id`. */
export class ReservationHolder extends Context.Tag("@berth/infra/ReservationHolder")<ReservationHolder, string>() {
  static readonly layer = Layer.effect(
    ReservationHolder,
    Effect.flatMap(IdGenerator, (ids) => ids.next("hld"))
  )
}
