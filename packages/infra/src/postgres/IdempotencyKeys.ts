import {
  Claim,
  ClaimId,
  claimLease,
  type IdempotencyKey,
  IdempotencyKeys,
  keyLifetime,
  StoredResponse
} from "@berth/domain/limits/IdempotencyKeys"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SecretBox, type SecretDoesNotOpen } from "@berth/domain/secrets/SecretBox"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createHash } from "node:crypto"
import { affected, first, RowIsUnreadable } from "./Rows.ts"

const Claimed = Schema.Struct({ claimId: ClaimId })
const Known = Schema.Struct({
  id: Schema.String,
  requestHash: Schema.String,
  responseSealed: Schema.NullOr(Schema.String),
  isHeld: Schema.Boolean
})

const Response = Schema.parseJson(StoredResponse)

// One column of a fixed size, and neither keys nor client addresses in the clear.
export const keyDigest = ({ principal, route, key }: IdempotencyKey): string =>
  createHash("sha256")
    .update(JSON.stringify([principal, route, key]))
    .digest("hex")

/** By which all keys of a principal are found. */
export const principalDigest = (principal: string): string =>
  createHash("sha256")
    .update(JSON.stringify([principal]))
    .digest("hex")

const sealedAs = (id: string) => `idempotency_keys.response_sealed:${id}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const box = yield* SecretBox
  const ids = yield* IdGenerator
  const fromNow = (duration: Duration.Duration) => sql`now() + make_interval(secs => ${Duration.toSeconds(duration)})`

  /**
   * A key that nobody has, whose time is over, or whose first caller died before it answered. The mark of an effect outlives its
   * claim. By the database's clock: those of hosts differ, and a lease that ends early lets two work.
   */
  const take = (id: string, principal: string, requestHash: string) =>
    Effect.gen(function* () {
      const claimId = yield* ids.next("req")
      return yield* sql`
        insert into idempotency_keys as held (id, principal_hash, claim_id, first_claim_id, request_hash, lease_until, expires_at)
        values (${id}, ${principalDigest(principal)}, ${claimId}, ${claimId}, ${requestHash}, ${fromNow(claimLease)}, ${fromNow(keyLifetime)})
        on conflict (id) do update
        set claim_id = excluded.claim_id, request_hash = excluded.request_hash, lease_until = excluded.lease_until,
          expires_at = excluded.expires_at, response_sealed = null,
          first_claim_id = case when held.expires_at <= now() then excluded.first_claim_id else held.first_claim_id end,
          outcome_sealed = case when held.expires_at <= now() then null else held.outcome_sealed end
        where held.expires_at <= now()
          or (held.response_sealed is null and held.lease_until <= now() and held.request_hash = excluded.request_hash)
        returning claim_id`.pipe(first(Claimed))
    })

  /** What is known of a key whose time is not over. */
  const look = (id: string) =>
    sql`
      select id, request_hash, response_sealed, lease_until > now() as is_held
      from idempotency_keys where id = ${id} and expires_at > now()`.pipe(first(Known))

  const replay = (id: string, sealed: string) =>
    Effect.gen(function* () {
      const text = Redacted.value(yield* box.open(sealed, sealedAs(id)))
      const response = yield* Effect.mapError(
        Schema.decode(Response)(text),
        () => new RowIsUnreadable({ columns: ["responseSealed"] })
      )
      return Claim.Replay({ response })
    })

  type Unusable = SqlError | SecretDoesNotOpen | RowIsUnreadable

  const decided = (
    known: typeof Known.Type,
    requestHash: string
  ): Effect.Effect<Option.Option<Claim>, SecretDoesNotOpen | RowIsUnreadable> => {
    if (known.requestHash !== requestHash) return Effect.succeedSome(Claim.KeyReused())
    if (known.responseSealed !== null) return Effect.asSome(replay(known.id, known.responseSealed))
    return known.isHeld ? Effect.succeedSome(Claim.InProgress()) : Effect.succeedNone
  }

  /** Looks before it takes: who waits for an answer asks often, and taking would lock the row that the answer is written to. */
  const claim = (key: IdempotencyKey, requestHash: string): Effect.Effect<Claim, Unusable> =>
    Effect.gen(function* () {
      const id = keyDigest(key)
      const known = yield* look(id)
      const found = Option.isSome(known) ? yield* decided(known.value, requestHash) : Option.none<Claim>()
      if (Option.isSome(found)) return found.value
      const claimed = yield* take(id, key.principal, requestHash)
      if (Option.isSome(claimed)) return Claim.Claimed({ id: claimed.value.claimId })
      // Somebody was quicker.
      return yield* claim(key, requestHash)
    })

  return IdempotencyKeys.of({
    claim: Effect.fn("IdempotencyKeys.claim")((key: IdempotencyKey, requestHash: string) =>
      Effect.orDie(claim(key, requestHash))
    ),
    renew: Effect.fn("IdempotencyKeys.renew")(function* (key: IdempotencyKey, claim: ClaimId) {
      const renewed = yield* affected(sql`
        update idempotency_keys set lease_until = ${fromNow(claimLease)}
        where id = ${keyDigest(key)} and claim_id = ${claim} and response_sealed is null`).pipe(Effect.orDie)
      return renewed === 1
    }),
    complete: Effect.fn("IdempotencyKeys.complete")(function* (
      key: IdempotencyKey,
      claim: ClaimId,
      response: StoredResponse
    ) {
      const id = keyDigest(key)
      const text = yield* Effect.orDie(Schema.encode(Response)(response))
      const sealed = yield* box.seal(Redacted.make(text), sealedAs(id))
      const kept = yield* affected(sql`
        update idempotency_keys set response_sealed = ${sealed}
        where id = ${id} and claim_id = ${claim} and response_sealed is null`).pipe(Effect.orDie)
      return kept === 1
    }),
    abandon: Effect.fn("IdempotencyKeys.abandon")(function* (key: IdempotencyKey, claim: ClaimId) {
      const held = sql`id = ${keyDigest(key)} and claim_id = ${claim} and response_sealed is null`
      yield* sql`
        with released as (
          update idempotency_keys set lease_until = now() where ${held} and outcome_sealed is not null
        )
        delete from idempotency_keys where ${held} and outcome_sealed is null`.pipe(Effect.orDie)
    }),
    prune: affected(sql`delete from idempotency_keys where expires_at <= now()`).pipe(
      Effect.orDie,
      Effect.withSpan("IdempotencyKeys.prune")
    )
  })
})

export const layer: Layer.Layer<IdempotencyKeys, never, SqlClient | SecretBox | IdGenerator> = Layer.effect(
  IdempotencyKeys,
  make
)
