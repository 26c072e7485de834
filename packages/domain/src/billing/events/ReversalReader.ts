import { Either, Option } from "effect"
import { MinorUnits } from "../../shared/Money.ts"
import type { Reversal } from "../Reversal.ts"
import type { ReversalEvent } from "./CardEvent.ts"
import { type CardEventUnreadable, makeObjectDecoder } from "./CardEventReader.ts"
import { Charge, Dispute } from "./CardProcessorObjects.ts"

/** Dispute statuses that withhold no money: won, prevented, or an inquiry before a chargeback. */
const holdsNoMoney = (status: string) =>
  ["won", "prevented", "charge_refunded"].includes(status) || status.startsWith("warning_")

const fromCharge = ({ amount_refunded, id, invoice, payment_intent }: Charge): Reversal => ({
  payment: Option.getOrElse(Option.firstSomeOf([payment_intent, invoice]), () => id),
  source: id,
  amount: amount_refunded,
  // Refunds of a charge accumulate, so the largest sum is the newest.
  version: amount_refunded
})

const fromDispute = (
  type: Exclude<ReversalEvent["type"], "charge.refunded">,
  { amount, charge, id, payment_intent, status }: Dispute
): Reversal => ({
  payment: Option.getOrElse(payment_intent, () => charge),
  source: id,
  amount: holdsNoMoney(status) ? MinorUnits(0) : amount,
  version: type === "charge.dispute.closed" ? 2 : 1
})

const decodeCharge = makeObjectDecoder(Charge)
const decodeDispute = makeObjectDecoder(Dispute)

/** Reads the refunded or disputed amount of a payment. */
export const readReversal = (event: ReversalEvent): Either.Either<Reversal, CardEventUnreadable> => {
  const { data, type } = event
  return type === "charge.refunded"
    ? Either.map(decodeCharge(data.object), fromCharge)
    : Either.map(decodeDispute(data.object), (dispute) => fromDispute(type, dispute))
}
