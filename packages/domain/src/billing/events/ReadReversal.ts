import { Either, Option } from "effect"
import type { Reversal } from "../Reversal.ts"
import type { ReversalEvent } from "./CardEvent.ts"
import * as Objects from "./CardProcessorObjects.ts"
import { type CardEventUnreadable, reading } from "./CardEventReader.ts"

/** Statuses of disputes that hold no money: won, prevented, or an inquiry that has not become a chargeback. */
const isHarmless = (status: string) =>
  ["won", "prevented", "charge_refunded"].includes(status) || status.startsWith("warning_")

const ofCharge = ({ amount_refunded, id, invoice, payment_intent }: Objects.Charge): Reversal => ({
  payment: Option.getOrElse(Option.firstSomeOf([payment_intent, invoice]), () => id),
  source: id,
  amount: amount_refunded,
  // Refunds of a charge add up, so that the largest sum is the latest.
  version: amount_refunded
})

const ofDispute = (
  type: Exclude<ReversalEvent["type"], "charge.refunded">,
  { amount, charge, id, payment_intent, status }: Objects.Dispute
): Reversal => ({
  payment: Option.getOrElse(payment_intent, () => charge),
  source: id,
  amount: isHarmless(status) ? 0 : amount,
  version: type === "charge.dispute.closed" ? 2 : 1
})

const readCharge = reading(Objects.Charge)
const readDispute = reading(Objects.Dispute)

/** Reads how much of a payment went back. */
export const readReversal = (event: ReversalEvent): Either.Either<Reversal, CardEventUnreadable> => {
  const { data, type } = event
  return type === "charge.refunded"
    ? Either.map(readCharge(data.object), ofCharge)
    : Either.map(readDispute(data.object), (dispute) => ofDispute(type, dispute))
}
