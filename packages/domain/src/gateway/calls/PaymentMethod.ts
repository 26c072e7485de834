import { Data, Either, type Option } from "effect"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import type { User } from "../../shared/User.ts"

/** By card (units and credits of the caller's account), or by a machine payment for this call alone. */
export type PaymentMethod = "card" | "mpp"

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

// RFC 9110: schemes are case-insensitive.
const paymentScheme = /^\s*payment(?:\s|$)/i

export interface ChosenPayment {
  readonly method: PaymentMethod
  /** Whether the caller named the method; without a name, every method is offered. */
  readonly isNamed: boolean
}

/** Returns the payment method: the one that `X-Payment-Method` names, else mpp with a `Payment` credential, else card. */
export const choosePaymentMethod = (headers: {
  readonly named: string | undefined
  readonly authorization: string | undefined
}): Either.Either<ChosenPayment, PaymentMethodUnknown> => {
  if (headers.named !== undefined)
    return Either.fromNullable(byName.get(headers.named.trim().toLowerCase()), () => new PaymentMethodUnknown()).pipe(
      Either.map((method) => ({ method, isNamed: true }))
    )
  return Either.right({ method: paymentScheme.test(headers.authorization ?? "") ? "mpp" : "card", isNamed: false })
}

export type Payer =
  | { readonly method: "card"; readonly user: User; readonly isNamed: boolean }
  | { readonly method: "mpp"; readonly caller: Option.Option<User> }

/** Card payments need a signed-in user. */
export const identifyPayer = (
  { isNamed, method }: ChosenPayment,
  caller: Option.Option<User>
): Either.Either<Payer, AuthenticationRequired> =>
  method === "mpp"
    ? Either.right({ method, caller })
    : Either.map(
        Either.fromOption(caller, () => new AuthenticationRequired()),
        (user) => ({ method, user, isNamed })
      )
