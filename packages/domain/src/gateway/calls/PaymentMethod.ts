import { Data, Either } from "effect"

/** By a person's card, which means units and credits of his account; or by a machine, for this call alone. */
export type PaymentMethod = "card" | "mpp"

/** A way to pay that is none of the gateway's. */
export class PaymentMethodUnknown extends Data.TaggedError("PaymentMethodUnknown")<object> {
  override get message() {
    return `must be one of ${Object.keys(names).join(", ")}`
  }
}

const names: Readonly<Record<string, PaymentMethod>> = {
  mpp: "mpp",
  card: "card",
  cardProcessor: "card",
  stripe: "card"
}
const byName = new Map(Object.entries(names).map(([name, method]) => [name.toLowerCase(), method] as const))

/** The scheme of an `Authorization`, which is the same in any case (RFC 9110). */
const paymentScheme = /^\s*payment(?:\s|$)/i

/** How a call is paid: as `X-Payment-Method` says; else by a machine when it shows a payment; else by card. */
export const choosePaymentMethod = (headers: {
  readonly asked: string | undefined
  readonly authorization: string | undefined
}): Either.Either<PaymentMethod, PaymentMethodUnknown> => {
  if (headers.asked !== undefined)
    return Either.fromNullable(byName.get(headers.asked.trim().toLowerCase()), () => new PaymentMethodUnknown())
  return Either.right(paymentScheme.test(headers.authorization ?? "") ? "mpp" : "card")
}
