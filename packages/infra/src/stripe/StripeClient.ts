import { Data, Effect, Predicate, Redacted, Schedule } from "effect"
import Stripe from "stripe"

export interface StripeAccess {
  readonly secretKey: Redacted.Redacted
  readonly apiUrl: URL
  /** Timeout of one try in milliseconds. */
  readonly timeout?: number
}

const defaultTimeout = 10_000
/** Tries after the first. All tries of a write use the same idempotency key. */
const retries = 1
/** Another request with the same key is in progress. */
const idempotencyRetry = Schedule.intersect(Schedule.spaced("250 millis"), Schedule.recurs(40))

/** Codes only, since the processor's message may contain personal data or a key. */
export const describeStripeError = (error: unknown): string => {
  if (error instanceof StripeAnswerUnexpected) return "its answer is none of its API"
  if (!(error instanceof Stripe.errors.StripeError)) return "it broke off"
  const { code, param, requestId, statusCode, type } = error
  return [type, code, param, statusCode === undefined ? undefined : `status ${statusCode}`, requestId]
    .filter((part) => part !== undefined && part !== "")
    .join(", ")
}

/** A successful response without an object of the API, for example from a proxy. */
class StripeAnswerUnexpected extends Data.TaggedError("StripeAnswerUnexpected") {}

/** Every object of the API names its kind; a list has its members. */
const isStripeObject = (answer: unknown): boolean =>
  Predicate.hasProperty(answer, "object") &&
  Predicate.isString(answer.object) &&
  (answer.object !== "list" || (Predicate.hasProperty(answer, "data") && Array.isArray(answer.data)))

const isIdempotencyKeyInUse = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeError && error.code === "idempotency_key_in_use"

/** No object has this id. */
export const isStripeObjectMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeError && error.code === "resource_missing"

/** The processor rejects the request, for example because the object's status forbids it. */
export const isStripeRequestInvalid = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError

/** The named customer does not exist. */
export const isCustomerMissing = (error: unknown): boolean =>
  isStripeObjectMissing(error) && error instanceof Stripe.errors.StripeError && error.param === "customer"

/** The key was used for a different request. */
export const isIdempotencyConflict = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeIdempotencyError && !isIdempotencyKeyInUse(error)

export class StripeCallFailed {
  readonly _tag = "StripeCallFailed"
  readonly error: unknown
  constructor(error: unknown) {
    this.error = error
  }
}

/** A card error, caused by the buyer. */
export const isCardError = (error: unknown): error is Stripe.errors.StripeCardError =>
  error instanceof Stripe.errors.StripeCardError

export type StripeCall = ReturnType<typeof makeStripeClient>

/**
 * The library never settles a call whose response is JSON without members, such as a text of a proxy, since its handler
 * throws. A rejected body becomes a failed call.
 */
const makeHttpClient = () => {
  const client = Stripe.createNodeHttpClient()
  const makeRequest = client.makeRequest.bind(client)
  client.makeRequest = async (...request) => {
    const response = await makeRequest(...request)
    const toJson = response.toJSON.bind(response)
    response.toJSON = async () => {
      const body: unknown = await toJson()
      if (!Predicate.isRecord(body)) throw new StripeAnswerUnexpected()
      return body
    }
    return response
  }
  return client
}

/** Client of the processor, one per process, which reuses its connections. */
export const makeStripeClient = ({ apiUrl, secretKey, timeout = defaultTimeout }: StripeAccess) => {
  const isPlain = apiUrl.protocol === "http:"
  const stripe = new Stripe(Redacted.value(secretKey), {
    protocol: isPlain ? "http" : "https",
    host: apiUrl.hostname,
    port: apiUrl.port === "" ? (isPlain ? 80 : 443) : apiUrl.port,
    timeout,
    maxNetworkRetries: retries,
    telemetry: false,
    httpClient: makeHttpClient()
  })
  return <A>(call: (stripe: Stripe) => Promise<A>): Effect.Effect<A, StripeCallFailed> =>
    Effect.tryPromise({ try: () => call(stripe), catch: (error) => new StripeCallFailed(error) }).pipe(
      Effect.filterOrFail(isStripeObject, () => new StripeCallFailed(new StripeAnswerUnexpected())),
      Effect.retry({ schedule: idempotencyRetry, while: ({ error }) => isIdempotencyKeyInUse(error) })
    )
}
