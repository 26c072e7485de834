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
import { DateTime, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createHash } from "node:crypto"
import { affected, first, RowIsUnreadable } from "./Rows.ts"

const Claimed = Schema.Struct({ claimId: ClaimId })
const Known = Schema.Struct({ requestHash: Schema.String, responseSealed: Schema.NullOr(Schema.String) })

const Response = Schema.parseJson(StoredResponse)

// One column of a fixed size, and neither keys nor client addresses in the clear.
const digest = ({ principal, route, key }: IdempotencyKey): string =>
  createHash("sha256")
    .update(JSON.stringify([principal, route, key]))
    .digest("hex")

const sealedAs = (id: string) => `idempotency_keys.response_sealed:${id}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const box = yield* SecretBox
  const ids = yield* IdGenerator

  /** A key that nobody has, whose time is over, or whose first caller died before it answered. */
  const take = (id: string, requestHash: string) =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const at = DateTime.toDate(now)
      return yield* sql`
        insert into idempotency_keys as held ${sql.insert({
          id,
          claimId: yield* ids.next("req"),
          requestHash,
          leaseUntil: DateTime.toDate(DateTime.addDuration(now, claimLease)),
          expiresAt: DateTime.toDate(DateTime.addDuration(now, keyLifetime))
        })}
        on conflict (id) do update
        set claim_id = excluded.claim_id, request_hash = excluded.request_hash, lease_until = excluded.lease_until,
          expires_at = excluded.expires_at, response_sealed = null
        where held.expires_at <= ${at}
          or (held.response_sealed is null and held.lease_until <= ${at} and held.request_hash = excluded.request_hash)
        returning claim_id`.pipe(first(Claimed))
    })

  const look = (id: string) =>
    sql`select request_hash, response_sealed from idempotency_keys where id = ${id}`.pipe(first(Known))

  const replay = (id: string, sealed: string) =>
    Effect.gen(function* () {
      const text = Redacted.value(yield* box.open(sealed, sealedAs(id)))
      const response = yield* Effect.mapError(
        Schema.decode(Response)(text),
        () => new RowIsUnreadable({ columns: ["responseSealed"] })
      )
      return Claim.Replay({ response })
    })

  const claim = (
    id: string,
    requestHash: string
  ): Effect.Effect<Claim, SqlError | SecretDoesNotOpen | RowIsUnreadable> =>
    Effect.gen(function* () {
      const claimed = yield* take(id, requestHash)
      if (Option.isSome(claimed)) return Claim.Claimed({ id: claimed.value.claimId })
      const known = yield* look(id)
      // Abandoned between the two looks.
      if (Option.isNone(known)) return yield* claim(id, requestHash)
      if (known.value.requestHash !== requestHash) return Claim.KeyReused()
      if (known.value.responseSealed === null) return Claim.InProgress()
      return yield* replay(id, known.value.responseSealed)
    })

  return IdempotencyKeys.of({
    claim: Effect.fn("IdempotencyKeys.claim")((key: IdempotencyKey, requestHash: string) =>
      Effect.orDie(claim(digest(key), requestHash))
    ),
    renew: Effect.fn("IdempotencyKeys.renew")(function* (key: IdempotencyKey, claim: ClaimId) {
      const until = DateTime.addDuration(yield* DateTime.now, claimLease)
      const renewed = yield* affected(sql`
        update idempotency_keys set lease_until = ${DateTime.toDate(until)}
        where id = ${digest(key)} and claim_id = ${claim} and response_sealed is null`).pipe(Effect.orDie)
      return renewed === 1
    }),
    complete: Effect.fn("IdempotencyKeys.complete")(function* (
      key: IdempotencyKey,
      claim: ClaimId,
      response: StoredResponse
    ) {
      const id = digest(key)
      const text = yield* Effect.orDie(Schema.encode(Response)(response))
      const sealed = yield* box.seal(Redacted.make(text), sealedAs(id))
      const kept = yield* affected(sql`
        update idempotency_keys set response_sealed = ${sealed}
        where id = ${id} and claim_id = ${claim} and response_sealed is null`).pipe(Effect.orDie)
      return kept === 1
    }),
    abandon: Effect.fn("IdempotencyKeys.abandon")(function* (key: IdempotencyKey, claim: ClaimId) {
      yield* sql`
        delete from idempotency_keys
        where id = ${digest(key)} and claim_id = ${claim} and response_sealed is null`.pipe(Effect.orDie)
    }),
    prune: Effect.gen(function* () {
      const now = yield* DateTime.now
      return yield* affected(sql`delete from idempotency_keys where expires_at <= ${DateTime.toDate(now)}`)
    }).pipe(Effect.orDie, Effect.withSpan("IdempotencyKeys.prune"))
  })
})

export const layer: Layer.Layer<IdempotencyKeys, never, SqlClient | SecretBox | IdGenerator> = Layer.effect(
  IdempotencyKeys,
  make
)
