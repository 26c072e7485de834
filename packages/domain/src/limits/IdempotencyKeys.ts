import { Context, Data, Duration, type Effect, Schema } from "effect"

/** Names one first request: a key belongs to one principal (a user id, or the client address of an anonymous caller) and one route. */
export interface IdempotencyKey {
  readonly principal: string
  readonly route: string
  readonly key: string
}

/** The answer that a repeated request gets again. */
export const StoredResponse = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  body: Schema.String
})
export type StoredResponse = typeof StoredResponse.Type

/** The right to answer for a key. Whoever claims it after the lease has ended gets another one. */
export const IdempotencyClaimId = Schema.String.pipe(Schema.brand("IdempotencyClaimId"))
export type IdempotencyClaimId = typeof IdempotencyClaimId.Type

export type IdempotencyClaim = Data.TaggedEnum<{
  /** The caller is the first: it does the work, then completes or abandons. */
  readonly Claimed: { readonly id: IdempotencyClaimId }
  /** The work is done. */
  readonly Replay: { readonly response: StoredResponse }
  /** Another request with this key is at work. */
  readonly InProgress: object
  /** The key was first used with another request. */
  readonly KeyReused: object
}>
export const IdempotencyClaim = Data.taggedEnum<IdempotencyClaim>()

/** How long a claim lasts without being renewed, by the store's clock: a process that died lets go after this. */
export const idempotencyLease = Duration.seconds(15)
/** How long an answer is given again. */
export const idempotencyKeyLifetime = Duration.hours(24)

/** What `Idempotency-Key` promises: one request is carried out, its repetitions get the same answer. Shared by all processes. */
export class IdempotencyKeys extends Context.Tag("@berth/IdempotencyKeys")<
  IdempotencyKeys,
  {
    /** `requestHash` tells requests apart that share a key by mistake. */
    readonly claim: (key: IdempotencyKey, requestHash: string) => Effect.Effect<IdempotencyClaim>
    /** Extends the lease of work that takes long; false when the claim is lost. */
    readonly renew: (key: IdempotencyKey, claim: IdempotencyClaimId) => Effect.Effect<boolean>
    /** Keeps the answer; false when the claim is lost, and then the answer of its successor counts. */
    readonly complete: (
      key: IdempotencyKey,
      claim: IdempotencyClaimId,
      response: StoredResponse
    ) => Effect.Effect<boolean>
    /** The request was refused, or broke: the next one with this key may try at once. What `IdempotentExecution` has kept stays. */
    readonly release: (key: IdempotencyKey, claim: IdempotencyClaimId) => Effect.Effect<void>
    /** Deletes keys past their lifetime; answers how many. */
    readonly prune: Effect.Effect<number>
  }
>() {}
