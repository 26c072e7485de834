import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { IdempotencyClaimId, IdempotencyKey } from "@berth/domain/limits/IdempotencyKeys"
import { IdempotencyClaimLost, IdempotentExecution, RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { useService } from "@berth/domain/shared/HotPath"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { digestIdempotencyKey } from "./PostgresIdempotencyKeys.ts"
import { decodeFirstRow, execute } from "../Rows.ts"

const ClaimRow = Schema.Struct({ firstClaimId: Schema.String, outcomeSealed: Schema.NullOr(Schema.String) })

type Claim = { readonly id: IdempotencyClaimId; readonly key: IdempotencyKey }

const sealContext = (id: string) => `idempotency_keys.outcome_sealed:${id}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const box = yield* SecretBox
  const ids = yield* IdGenerator

  /** Locks the key's row until the transaction ends, so that no other request can claim it during the effect. */
  const hold = (id: string, claim: IdempotencyClaimId) =>
    sql`
      select first_claim_id, outcome_sealed from idempotency_keys
      where id = ${id} and claim_id = ${claim} for update`.pipe(
      decodeFirstRow(ClaimRow),
      Effect.flatMap(Option.match({ onNone: () => Effect.die(new IdempotencyClaimLost()), onSome: Effect.succeed }))
    )

  const store = Effect.fnUntraced(function* <A, I>(id: string, outcome: Schema.Schema<A, I>, value: A) {
    const text = yield* Effect.orDie(Schema.encode(Schema.parseJson(outcome))(value))
    const sealed = yield* box.seal(Redacted.make(text), sealContext(id))
    yield* execute(sql`update idempotency_keys set outcome_sealed = ${sealed} where id = ${id}`)
  })

  const runUnderKey = Effect.fn("IdempotentExecution.run")(function* <A, I, E, R>(
    { id: claim, key }: Claim,
    outcome: Schema.Schema<A, I>,
    effect: Effect.Effect<A, E, R>
  ) {
    const id = digestIdempotencyKey(key)
    const { outcomeSealed } = yield* hold(id, claim)
    if (outcomeSealed !== null) {
      const text = Redacted.value(yield* Effect.orDie(box.open(outcomeSealed, sealContext(id))))
      return yield* Effect.orDie(Schema.decode(Schema.parseJson(outcome))(text))
    }
    const result = yield* effect
    yield* store(id, outcome, result)
    return result
  })

  const recordUnderKey = Effect.fn("IdempotentExecution.record")(function* <A, I>(
    { id: claim, key }: Claim,
    outcome: Schema.Schema<A, I>,
    value: A
  ) {
    const id = digestIdempotencyKey(key)
    yield* hold(id, claim)
    yield* store(id, outcome, value)
  })

  return IdempotentExecution.of({
    run: <A, I, E, R>(outcome: Schema.Schema<A, I>, effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(
        RequestClaim,
        Option.match({
          onNone: (): Effect.Effect<A, E, R> => effect,
          onSome: (claim) => runUnderKey(claim, outcome, effect)
        })
      ),
    record: (outcome, value) =>
      Effect.flatMap(
        RequestClaim,
        Option.match({ onNone: () => Effect.void, onSome: (claim) => recordUnderKey(claim, outcome, value) })
      ),
    reference: useService(
      RequestClaim,
      Option.match({
        onNone: (): Effect.Effect<string> => ids.next("req"),
        onSome: ({ id, key }) =>
          Effect.map(hold(digestIdempotencyKey(key), id), ({ firstClaimId }) => firstClaimId).pipe(
            Effect.withSpan("IdempotentExecution.reference")
          )
      })
    )
  })
})

export const layer: Layer.Layer<IdempotentExecution, never, SqlClient | SecretBox | IdGenerator> = Layer.effect(
  IdempotentExecution,
  make
)
