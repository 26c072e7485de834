import {
  IdempotencyClaim,
  IdempotencyClaimId,
  idempotencyLease,
  type IdempotencyKey,
  IdempotencyKeys,
  idempotencyKeyLifetime,
  StoredResponse
} from "@berth/domain/limits/IdempotencyKeys"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SecretBox, type SecretUndecryptable } from "@berth/domain/secrets/SecretBox"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { createHash } from "node:crypto"
import { countAffectedRows, decodeFirstRow, RowUnreadable } from "../Rows.ts"
import { makeWakeups } from "../Wakeups.ts"

const Claimed = Schema.Struct({ claimId: IdempotencyClaimId })
const Known = Schema.Struct({
  id: Schema.String,
  requestHash: Schema.String,
  responseSealed: Schema.NullOr(Schema.String),
  isHeld: Schema.Boolean
})

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

const channel = "berth_idempotency_keys"
// Bounds the wait for the lease of an ended process, which sends no notification.
const pollInterval = Duration.seconds(1)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const wakeups = yield* makeWakeups(channel)
  const box = yield* SecretBox
  const ids = yield* IdGenerator
  const fromNow = (duration: Duration.Duration) => sql`now() + make_interval(secs => ${Duration.toSeconds(duration)})`

  /**
   * Takes a free key, an expired one, or one whose lease has ended; the outcome of an effect outlives its claim. Uses the
   * database's clock: a host's clock could end a lease early.
   */
  const take = (id: string, principal: string, requestHash: string) =>
    Effect.gen(function* () {
      const claimId = yield* ids.next("req")
      return yield* sql`
        insert into idempotency_keys as held (id, principal_hash, claim_id, first_claim_id, request_hash, lease_until, expires_at)
        values (${id}, ${digestPrincipal(principal)}, ${claimId}, ${claimId}, ${requestHash}, ${fromNow(idempotencyLease)}, ${fromNow(idempotencyKeyLifetime)})
        on conflict (id) do update
        set claim_id = excluded.claim_id, request_hash = excluded.request_hash, lease_until = excluded.lease_until,
          expires_at = excluded.expires_at, response_sealed = null,
          first_claim_id = case when held.expires_at <= now() then excluded.first_claim_id else held.first_claim_id end,
          outcome_sealed = case when held.expires_at <= now() then null else held.outcome_sealed end
        where held.expires_at <= now()
          or (held.response_sealed is null and held.lease_until <= now() and held.request_hash = excluded.request_hash)
        returning claim_id`.pipe(decodeFirstRow(Claimed))
    })

  const look = (id: string) =>
    sql`
      select id, request_hash, response_sealed, lease_until > now() as is_held
      from idempotency_keys where id = ${id} and expires_at > now()`.pipe(decodeFirstRow(Known))

  const replay = (id: string, sealed: string) =>
    Effect.gen(function* () {
      const text = Redacted.value(yield* box.open(sealed, sealContext(id)))
      const response = yield* Effect.mapError(
        Schema.decode(Response)(text),
        () => new RowUnreadable({ columns: ["responseSealed"] })
      )
      return IdempotencyClaim.Replay({ response })
    })

  const notify = (id: string) => sql`select pg_notify(${channel}, ${id})`

  type Unusable = SqlError | SecretUndecryptable | RowUnreadable

  const decided = (
    known: typeof Known.Type,
    requestHash: string
  ): Effect.Effect<Option.Option<IdempotencyClaim>, SecretUndecryptable | RowUnreadable> => {
    if (known.requestHash !== requestHash) return Effect.succeedSome(IdempotencyClaim.KeyReused())
    if (known.responseSealed !== null) return Effect.asSome(replay(known.id, known.responseSealed))
    return known.isHeld ? Effect.succeedSome(IdempotencyClaim.InProgress()) : Effect.succeedNone
  }

  /** Reads before it writes: waiting requests claim often, and a write would lock the row of the response. */
  const claim = (key: IdempotencyKey, requestHash: string): Effect.Effect<IdempotencyClaim, Unusable> =>
    Effect.gen(function* () {
      const id = digestIdempotencyKey(key)
      const known = yield* look(id)
      const found = Option.isSome(known) ? yield* decided(known.value, requestHash) : Option.none<IdempotencyClaim>()
      if (Option.isSome(found)) return found.value
      const claimed = yield* take(id, key.principal, requestHash)
      if (Option.isSome(claimed)) return IdempotencyClaim.Claimed({ id: claimed.value.claimId })
      // A concurrent request claimed the key.
      return yield* claim(key, requestHash)
    })

  return IdempotencyKeys.of({
    claim: Effect.fn("IdempotencyKeys.claim")((key: IdempotencyKey, requestHash: string) =>
      Effect.orDie(claim(key, requestHash))
    ),
    claimWithin: Effect.fn("IdempotencyKeys.claimWithin")((key, requestHash, atMost) =>
      Effect.gen(function* () {
        const first = yield* claim(key, requestHash)
        if (first._tag !== "InProgress") return first
        const changed = yield* wakeups.subscribe(digestIdempotencyKey(key), pollInterval)
        return yield* claim(key, requestHash).pipe(
          Effect.filterOrFail(
            (found) => found._tag !== "InProgress",
            () => first
          ),
          Effect.tapErrorTag("InProgress", () => changed),
          Effect.retry({
            while: ({ _tag }) => _tag === "InProgress",
            schedule: Schedule.upTo(Schedule.forever, atMost)
          }),
          Effect.catchTag("InProgress", Effect.succeed)
        )
      }).pipe(Effect.scoped, Effect.orDie)
    ),
    renew: Effect.fn("IdempotencyKeys.renew")(function* (key: IdempotencyKey, claim: IdempotencyClaimId) {
      const renewed = yield* countAffectedRows(sql`
        update idempotency_keys set lease_until = ${fromNow(idempotencyLease)}
        where id = ${digestIdempotencyKey(key)} and claim_id = ${claim} and response_sealed is null`).pipe(Effect.orDie)
      return renewed === 1
    }),
    complete: Effect.fn("IdempotencyKeys.complete")(function* (
      key: IdempotencyKey,
      claim: IdempotencyClaimId,
      response: StoredResponse
    ) {
      const id = digestIdempotencyKey(key)
      const text = yield* Effect.orDie(Schema.encode(Response)(response))
      const sealed = yield* box.seal(Redacted.make(text), sealContext(id))
      const kept = yield* countAffectedRows(sql`
        update idempotency_keys set response_sealed = ${sealed}
        where id = ${id} and claim_id = ${claim} and response_sealed is null`).pipe(
        Effect.tap((rows) => (rows === 1 ? notify(id) : Effect.void)),
        Effect.orDie
      )
      return kept === 1
    }),
    release: Effect.fn("IdempotencyKeys.release")(function* (key: IdempotencyKey, claim: IdempotencyClaimId) {
      const held = sql`id = ${digestIdempotencyKey(key)} and claim_id = ${claim} and response_sealed is null`
      yield* sql`
        with released as (
          update idempotency_keys set lease_until = now() where ${held} and outcome_sealed is not null
        )
        delete from idempotency_keys where ${held} and outcome_sealed is null`.pipe(
        Effect.zipRight(notify(digestIdempotencyKey(key))),
        Effect.orDie
      )
    }),
    prune: countAffectedRows(sql`delete from idempotency_keys where expires_at <= now()`).pipe(
      Effect.orDie,
      Effect.withSpan("IdempotencyKeys.prune")
    )
  })
})

export const layer: Layer.Layer<IdempotencyKeys, never, PgClient | SqlClient | SecretBox | IdGenerator> = Layer.scoped(
  IdempotencyKeys,
  make
)
