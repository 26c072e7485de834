import { Data, Either, type Option } from "effect"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import { paymentIntent, paymentMethod } from "../payments/Challenge.ts"
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

/** Ranges of `Accept-Payment` that match our challenges, by increasing precedence. */
const challengeRanges = ["*/*", `*/${paymentIntent}`, `${paymentMethod}/*`, `${paymentMethod}/${paymentIntent}`]

/**
 * Whether an `Accept-Payment` of the "Payment" HTTP authentication draft accepts our challenges. The most specific range that
 * matches decides.
 */
const acceptsChallenge = (acceptPayment: string): boolean => {
  let best = { precedence: -1, isAccepted: false }
  for (const entry of acceptPayment.split(",")) {
    const [range = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase())
    const precedence = challengeRanges.indexOf(range.replaceAll(/\s/g, ""))
    const isAccepted = !parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter))
    if (precedence > best.precedence || (precedence === best.precedence && isAccepted))
      best = { precedence, isAccepted }
  }
  return best.precedence >= 0 && best.isAccepted
}

/**
 * Returns the payment method: the one that `X-Payment-Method` names, else mpp with a `Payment` credential, else mpp without a session
 * where `Accept-Payment` accepts it, else card.
 */
export const choosePaymentMethod = (request: {
  readonly named: string | undefined
  readonly authorization: string | undefined
  readonly acceptPayment: string | undefined
  readonly hasSession: boolean
}): Either.Either<ChosenPayment, PaymentMethodUnknown> => {
  const { acceptPayment, authorization, hasSession, named } = request
  if (named !== undefined)
    return Either.fromNullable(byName.get(named.trim().toLowerCase()), () => new PaymentMethodUnknown()).pipe(
      Either.map((method) => ({ method, isNamed: true }))
    )
  const isMachine = paymentScheme.test(authorization ?? "") || (!hasSession && acceptsChallenge(acceptPayment ?? ""))
  return Either.right({ method: isMachine ? "mpp" : "card", isNamed: false })
}

export type CallPayer =
  | { readonly method: "card"; readonly user: User; readonly isNamed: boolean }
  | { readonly method: "mpp"; readonly caller: Option.Option<User> }

/** Card payments need a signed-in user. */
export const identifyPayer = (
  { isNamed, method }: ChosenPayment,
  caller: Option.Option<User>
): Either.Either<CallPayer, AuthenticationRequired> =>
  method === "mpp"
    ? Either.right({ method, caller })
    : Either.map(
        Either.fromOption(caller, () => new AuthenticationRequired()),
        (user) => ({ method, user, isNamed })
      )
