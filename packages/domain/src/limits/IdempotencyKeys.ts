import { Context, Data, Duration, type Effect, Schema } from "effect"

/** A key is scoped by principal (a user id, or the client address of an anonymous caller) and route. */
export interface IdempotencyKey {
  readonly principal: string
  readonly route: string
  readonly key: string
}

export const StoredResponse = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  body: Schema.String,
  /** Encoding of a binary body. */
  encoding: Schema.optional(Schema.Literal("base64"))
})
export type StoredResponse = typeof StoredResponse.Type

/** Identifies one claim of a key; a claim after the lease expires has another id. */
export const IdempotencyClaimId = Schema.String.pipe(Schema.brand("IdempotencyClaimId"))
export type IdempotencyClaimId = typeof IdempotencyClaimId.Type

export type IdempotencyClaim = Data.TaggedEnum<{
  /** The caller is the first: it executes the request, then completes or releases the claim. */
  readonly Claimed: { readonly id: IdempotencyClaimId }
  readonly Replay: { readonly response: StoredResponse }
  /** Another request holds the key. */
  readonly InProgress: object
  /** The key was first used with a different request. */
  readonly KeyReused: object
}>
export const IdempotencyClaim = Data.taggedEnum<IdempotencyClaim>()

/** Larger bodies are not stored. */
export const maximumStoredBodyBytes = 1024 * 1024
/** Responses above this size count against `maximumStoredBytes`; rate limits bound the number of smaller ones. */
export const countedResponseBytes = 16 * 1024
/** Maximum counted responses of a principal; further responses are not stored. */
export const maximumStoredBytes = 128 * 1024 * 1024
export const idempotencyKeyLifetime = Duration.hours(24)

/**
 * Leases of `Idempotency-Key`: one request executes, and its repetitions receive its response. Shared by all processes.
 */
export class IdempotencyKeys extends Context.Tag("@berth/IdempotencyKeys")<
  IdempotencyKeys,
  {
    /** `requestHash` distinguishes different requests with the same key. */
    readonly claim: (key: IdempotencyKey, requestHash: string) => Effect.Effect<IdempotencyClaim>
    /** Claims after other requests release the key; `InProgress` if one still holds it after `atMost`. */
    readonly claimWithin: (
      key: IdempotencyKey,
      requestHash: string,
      atMost: Duration.DurationInput
    ) => Effect.Effect<IdempotencyClaim>
    /** Extends the lease; false if the claim is lost. */
    readonly renew: (key: IdempotencyKey, claim: IdempotencyClaimId) => Effect.Effect<boolean>
    /** Whether a response of this size fits into `maximumStoredBytes`. Concurrent responses can exceed it together. */
    readonly hasRoom: (key: IdempotencyKey, bytes: number) => Effect.Effect<boolean>
    /** Stores the response; false if the claim is lost. */
    readonly complete: (
      key: IdempotencyKey,
      claim: IdempotencyClaimId,
      response: StoredResponse
    ) => Effect.Effect<boolean>
    /** Frees the key of a rejected or failed request. Outcomes of `IdempotentExecution` stay. */
    readonly release: (key: IdempotencyKey, claim: IdempotencyClaimId) => Effect.Effect<void>
    /** Deletes expired keys; returns their number. */
    readonly prune: Effect.Effect<number>
  }
>() {}
