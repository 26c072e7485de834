import { Context, Data, type Effect, Option, type Schema } from "effect"
import type { IdempotencyClaimId, IdempotencyKey } from "./IdempotencyKeys.ts"

/** The claim under which the current request works, when it came with an `Idempotency-Key`. */
export class RequestClaim extends Context.Reference<RequestClaim>()("@berth/RequestClaim", {
  defaultValue: (): Option.Option<{ readonly key: IdempotencyKey; readonly id: IdempotencyClaimId }> => Option.none()
}) {}

/** A defect: the claim ran out and a later request with the same key has it now, so nothing may be done for this one. */
export class IdempotencyClaimLost extends Data.TaggedError("IdempotencyClaimLost")<object> {}

/**
 * Ties an effect to the `Idempotency-Key` of the request that causes it. The answer of a request is stored after its effect, and
 * a process may die in between: so the effect itself leaves a mark, in the transaction of its rows.
 */
export class IdempotentExecution extends Context.Tag("@berth/IdempotentExecution")<
  IdempotentExecution,
  {
    /**
     * Carries `effect` out and keeps its outcome with the key; a repetition gets that outcome, and nothing is done again. Joins
     * the running transaction, which must hold everything that `effect` writes. Without a key it is `effect`. Once a request.
     */
    readonly run: <A, I, E, R>(outcome: Schema.Schema<A, I>, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** What the current request is called towards systems outside, the same in each of its repetitions; new when it has no key. */
    readonly reference: Effect.Effect<string>
  }
>() {}
