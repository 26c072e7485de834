import { Context, Data, Effect, Option, type Schema } from "effect"
import type { IdempotencyClaimId, IdempotencyKey } from "./IdempotencyKeys.ts"

/** The claim of the current request; none without an `Idempotency-Key`. */
export class RequestClaim extends Context.Reference<RequestClaim>()("@berth/RequestClaim", {
  defaultValue: (): Option.Option<{ readonly key: IdempotencyKey; readonly id: IdempotencyClaimId }> => Option.none()
}) {}

/**
 * Records that the work of the current request will be charged. Then a repetition has the same `reference` and is not
 * charged again, regardless of the response. No effect without an `Idempotency-Key`.
 */
export class RequestCharge extends Context.Reference<RequestCharge>()("@berth/RequestCharge", {
  defaultValue: (): Effect.Effect<void> => Effect.void
}) {}

/** A defect: the lease expired and a later request holds the key, so this request must have no effect. */
export class IdempotencyClaimLost extends Data.TaggedError("IdempotencyClaimLost")<object> {}

/**
 * Stores the outcome of an effect in the transaction of its rows, since a process can die between the effect and the
 * response.
 */
export class IdempotentExecution extends Context.Tag("@berth/IdempotentExecution")<
  IdempotentExecution,
  {
    /**
     * Runs `effect` and stores its outcome under the key; a repetition receives that outcome. Joins the running
     * transaction, which must contain every write of `effect`. At most once per request. Without a key, runs `effect`
     * only.
     */
    readonly run: <A, I, E, R>(outcome: Schema.Schema<A, I>, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Stores an outcome under the key in place of an earlier one, in the running transaction. No effect without a key. */
    readonly record: <A, I>(outcome: Schema.Schema<A, I>, value: A) => Effect.Effect<void>
    /** Reference of the current request for external systems, stable across repetitions; new without a key. */
    readonly reference: Effect.Effect<string>
  }
>() {}
