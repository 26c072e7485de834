import { CardProcessorIsUnavailable, PurchaseIsRefused } from "@berth/domain/billing/CardProcessor"
import { Effect, Redacted, Schedule } from "effect"
import Stripe from "stripe"

export interface StripeAccess {
  readonly secretKey: Redacted.Redacted
  readonly apiUrl: URL
  /** Milliseconds that one try may take. */
  readonly timeout?: number
}

const defaultTimeout = 10_000
/** Tries after the first one. A write keeps its idempotency key over all of them. */
const retries = 1
/** Somebody else is at the same write at this moment; it does not take him long. */
const untilHeIsDone = Schedule.intersect(Schedule.spaced("250 millis"), Schedule.recurs(40))

/** What is wrong, in words that hold nobody's data and no key: the processor's own sentence may quote both. */
const describe = (error: unknown): string => {
  if (!(error instanceof Stripe.errors.StripeError)) return "it broke off"
  const { code, param, requestId, statusCode, type } = error
  return [type, code, param, statusCode === undefined ? undefined : `status ${statusCode}`, requestId]
    .filter((part) => part !== undefined && part !== "")
    .join(", ")
}

const isInUse = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeError && error.code === "idempotency_key_in_use"

/** Something that is named by its id is not there, or not any more. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeError && error.code === "resource_missing"

/** A parameter names a customer that is not there. */
export const isCustomerMissing = (error: unknown): boolean =>
  isMissing(error) && error instanceof Stripe.errors.StripeError && error.param === "customer"

/** A key was used before for a request that said something else. */
export const isAnotherRequest = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeIdempotencyError && !isInUse(error)

export class StripeFailed {
  readonly _tag = "StripeFailed"
  readonly error: unknown
  constructor(error: unknown) {
    this.error = error
  }
}

export const unavailable = ({ error }: StripeFailed) => new CardProcessorIsUnavailable({ reason: describe(error) })

/** The buyer's card is at fault, or else the processor. */
export const refusedOrUnavailable = (failed: StripeFailed) =>
  failed.error instanceof Stripe.errors.StripeCardError
    ? new PurchaseIsRefused({
        reason: failed.error.message,
        declineCode: failed.error.decline_code ?? failed.error.code ?? null
      })
    : unavailable(failed)

/** The processor's own client, one per process: it keeps its connections. */
export const makeStripe = ({ apiUrl, secretKey, timeout = defaultTimeout }: StripeAccess) => {
  const isPlain = apiUrl.protocol === "http:"
  const stripe = new Stripe(Redacted.value(secretKey), {
    protocol: isPlain ? "http" : "https",
    host: apiUrl.hostname,
    port: apiUrl.port === "" ? (isPlain ? 80 : 443) : apiUrl.port,
    timeout,
    maxNetworkRetries: retries,
    telemetry: false
  })
  return <A>(call: (stripe: Stripe) => Promise<A>): Effect.Effect<A, StripeFailed> =>
    Effect.tryPromise({ try: () => call(stripe), catch: (error) => new StripeFailed(error) }).pipe(
      Effect.retry({ schedule: untilHeIsDone, while: ({ error }) => isInUse(error) })
    )
}
