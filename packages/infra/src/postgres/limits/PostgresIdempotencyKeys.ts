import {
  countedResponseBytes,
  IdempotencyClaim,
  IdempotencyClaimId,
  type IdempotencyKey,
  IdempotencyKeys,
  idempotencyKeyLifetime,
  maximumStoredBytes,
  StoredResponse
} from "@berth/domain/limits/IdempotencyKeys"
import { awaitClaim } from "@berth/domain/limits/Lease"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SecretBox, type SecretUndecryptable } from "@berth/domain/secrets/SecretBox"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createHash } from "node:crypto"
import { makeLeaseTable, wakeupsLayer } from "../LeaseTable.ts"
import { countAffectedRows, decodeFirstRow, RowUnreadable } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const Claimed = Schema.Struct({ claimId: IdempotencyClaimId })
const Known = Schema.Struct({
  id: Schema.String,
  requestHash: Schema.String,
  responseSealed: Schema.NullOr(Schema.String),
  isHeld: Schema.Boolean
})

const Stored = Schema.Struct({ fits: Schema.Boolean })

const Response = Schema.parseJson(StoredResponse)

// Fixed size; stores neither keys nor client addresses.
export const digestIdempotencyKey = ({ principal, route, key }: IdempotencyKey): string =>
  createHash("sha256")
    .update(JSON.stringify([principal, route, key]))
    .digest("hex")

/** Identifies all keys of a principal. */
export const digestPrincipal = (principal: string): string =>
  createHash("sha256")
    .update(JSON.stringify([principal]))
    .digest("hex")

const sealContext = (id: string) => `idempotency_keys.response_sealed:${id}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const leases = yield* makeLeaseTable("idempotency_keys", { key: "id", completed: "response_sealed" })
  const box = yield* SecretBox
  const ids = yield* IdGenerator
  const expiry = sql`now() + make_interval(secs => ${Duration.toSeconds(idempotencyKeyLifetime)})`
  const leaseOf = (key: IdempotencyKey, claimId: IdempotencyClaimId) => ({ key: digestIdempotencyKey(key), claimId })

  /** Takes a free key, an expired key, or one with an expired lease. The outcome of an effect outlives its claim. */
  const take = Effect.fnUntraced(function* (id: string, principal: string, requestHash: string) {
    const claimId = yield* ids.next("req")
    return yield* sql`
      insert into idempotency_keys as held (id, principal_hash, claim_id, first_claim_id, request_hash, lease_until, expires_at)
      values (${id}, ${digestPrincipal(principal)}, ${claimId}, ${claimId}, ${requestHash}, ${leases.leased}, ${expiry})
      on conflict (id) do update
      set claim_id = excluded.claim_id, request_hash = excluded.request_hash, lease_until = excluded.lease_until,
        expires_at = excluded.expires_at, response_sealed = null,
        first_claim_id = case when held.expires_at <= now() then excluded.first_claim_id else held.first_claim_id end,
        outcome_sealed = case when held.expires_at <= now() then null else held.outcome_sealed end
      where held.expires_at <= now()
        or (held.response_sealed is null and held.lease_until <= now() and held.request_hash = excluded.request_hash)
      returning claim_id`.pipe(decodeFirstRow(Claimed))
  })

  const findKey = (id: string) =>
    sql`
      select id, request_hash, response_sealed, lease_until > now() as is_held
      from idempotency_keys where id = ${id} and expires_at > now()`.pipe(decodeFirstRow(Known))

  const replay = Effect.fnUntraced(function* (id: string, sealed: string) {
    const text = Redacted.value(yield* box.open(sealed, sealContext(id)))
    const response = yield* Effect.mapError(
      Schema.decode(Response)(text),
      () => new RowUnreadable({ columns: ["responseSealed"] })
    )
    return IdempotencyClaim.Replay({ response })
  })

  // A literal, as in the index `idempotency_keys_large_of_principal`.
  const isCounted = sql.literal(`octet_length(response_sealed) > ${countedResponseBytes}`)
  const hasRoom = ({ principal }: IdempotencyKey, bytes: number) =>
    sql`
      select coalesce(sum(octet_length(response_sealed)), 0) + ${bytes} <= ${maximumStoredBytes} as fits
      from idempotency_keys
      where principal_hash = ${digestPrincipal(principal)} and ${isCounted} and expires_at > now()`.pipe(
      decodeFirstRow(Stored),
      Effect.map(Option.exists(({ fits }) => fits))
    )

  type Unusable = SqlError | SecretUndecryptable | RowUnreadable

  const decided = (
    known: typeof Known.Type,
    requestHash: string
  ): Effect.Effect<Option.Option<IdempotencyClaim>, SecretUndecryptable | RowUnreadable> => {
    if (known.requestHash !== requestHash) return Effect.succeedSome(IdempotencyClaim.KeyReused())
    if (known.responseSealed !== null) return Effect.asSome(replay(known.id, known.responseSealed))
    return known.isHeld ? Effect.succeedSome(IdempotencyClaim.InProgress()) : Effect.succeedNone
  }

  /** Reads before it writes, since waiting requests claim often, and a write would lock the row of the response. */
  const claim = Effect.fnUntraced(function* (
    key: IdempotencyKey,
    requestHash: string
  ): Effect.fn.Return<IdempotencyClaim, Unusable> {
    const id = digestIdempotencyKey(key)
    const stored = yield* findKey(id)
    const decision = Option.isSome(stored) ? yield* decided(stored.value, requestHash) : Option.none<IdempotencyClaim>()
    if (Option.isSome(decision)) return decision.value
    const claimed = yield* take(id, key.principal, requestHash)
    if (Option.isSome(claimed)) return IdempotencyClaim.Claimed({ id: claimed.value.claimId })
    // A concurrent request claimed the key.
    return yield* claim(key, requestHash)
  })

  return IdempotencyKeys.of({
    claim: (key, requestHash) => Effect.orDie(claim(key, requestHash)),
    claimWithin: (key, requestHash, atMost) =>
      Effect.orDie(
        awaitClaim(claim(key, requestHash), {
          subscribe: () => leases.subscribe(digestIdempotencyKey(key)),
          atMost
        })
      ),
    renew: (key, claim) => leases.renew(leaseOf(key, claim)),
    hasRoom: (key, bytes) => (bytes > countedResponseBytes ? hasRoom(key, bytes) : Effect.succeed(true)),
    complete: (key, claim, response) =>
      Effect.gen(function* () {
        const lease = leaseOf(key, claim)
        const text = yield* Effect.orDie(Schema.encode(Response)(response))
        const sealed = yield* box.seal(Redacted.make(text), sealContext(lease.key))
        const isHeld = leases.isHeld(lease)
        return yield* leases.end(lease, sql`update idempotency_keys set response_sealed = ${sealed} where ${isHeld}`)
      }),
    release: (key, claim) => {
      const lease = leaseOf(key, claim)
      const isHeld = leases.isHeld(lease)
      const release = sql`
        with released as (
          update idempotency_keys set lease_until = now() where ${isHeld} and outcome_sealed is not null
        )
        delete from idempotency_keys where ${isHeld} and outcome_sealed is null`
      return Effect.asVoid(leases.end(lease, release))
    },
    prune: countAffectedRows(sql`delete from idempotency_keys where expires_at <= now()`)
  })
})

export const layer: Layer.Layer<IdempotencyKeys, never, PgClient | SqlClient | SecretBox | IdGenerator> =
  Repository.layerEffect(IdempotencyKeys, make).pipe(Layer.provide(wakeupsLayer))
