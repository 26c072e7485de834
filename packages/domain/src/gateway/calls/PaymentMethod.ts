import { Data, Either, type Option } from "effect"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import { paymentIntent, paymentMethod } from "../payments/Challenge.ts"
import type { User } from "../../shared/User.ts"

/** By card (units and credits of the caller's account), or by a machine payment for one call. */
type PaymentMethod = "card" | "mpp"

class PaymentMethodUnknown extends Data.TaggedError("PaymentMethodUnknown")<object> {
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

interface ChosenPayment {
  readonly method: PaymentMethod
  /** Whether the caller named the method; otherwise every method is offered. */
  readonly isNamed: boolean
}

/** Ranges of `Accept-Payment` that match the service's challenges, in ascending precedence. */
const challengeRanges = ["*/*", `*/${paymentIntent}`, `${paymentMethod}/*`, `${paymentMethod}/${paymentIntent}`]

/**
 * Whether an `Accept-Payment` header of the "Payment" HTTP authentication draft accepts the service's challenges. The
 * most specific matching range decides.
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
 * Returns the method of `X-Payment-Method`, else mpp with a `Payment` credential, else mpp without a session if
 * `Accept-Payment` accepts it, else card.
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

/** Card payments require a signed-in user. */
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
