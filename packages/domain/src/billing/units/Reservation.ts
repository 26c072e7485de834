import { Data } from "effect"
import { idSchema } from "../../ids/IdGenerator.ts"
import type { Units } from "../../shared/Money.ts"

export const ReservationId = idSchema("ReservationId", "A reservation of units, rsv_…")
export type ReservationId = typeof ReservationId.Type

/** Daily units and credits together do not cover `units`. */
export class UnitsExhausted extends Data.TaggedError("UnitsExhausted")<{
  readonly units: Units
  readonly remaining: Units
  /** Whether the free plan's daily units require a confirmation of the email address first. */
  readonly awaitsConfirmation: boolean
}> {}
