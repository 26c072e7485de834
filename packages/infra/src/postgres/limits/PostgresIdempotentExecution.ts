import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { IdempotencyClaimId } from "@berth/domain/limits/IdempotencyKeys"
import { IdempotencyClaimLost, IdempotentExecution, RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { useService } from "@berth/domain/shared/HotPath"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { digestIdempotencyKey } from "./PostgresIdempotencyKeys.ts"
import { decodeFirstRow, execute } from "../Rows.ts"

const ClaimRow = Schema.Struct({ firstClaimId: Schema.String, outcomeSealed: Schema.NullOr(Schema.String) })

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

  return IdempotentExecution.of({
    run: <A, I, E, R>(outcome: Schema.Schema<A, I>, effect: Effect.Effect<A, E, R>) => {
      const Outcome = Schema.parseJson(outcome)
      const underKey = Effect.fnUntraced(function* (id: string, claim: IdempotencyClaimId) {
        const { outcomeSealed } = yield* hold(id, claim)
        if (outcomeSealed !== null) {
          const text = Redacted.value(yield* Effect.orDie(box.open(outcomeSealed, sealContext(id))))
          return yield* Effect.orDie(Schema.decode(Outcome)(text))
        }
        const result = yield* effect
        const text = yield* Effect.orDie(Schema.encode(Outcome)(result))
        const sealed = yield* box.seal(Redacted.make(text), sealContext(id))
        yield* execute(sql`update idempotency_keys set outcome_sealed = ${sealed} where id = ${id}`)
        return result
      })
      return Effect.flatMap(
        RequestClaim,
        Option.match({
          onNone: (): Effect.Effect<A, E, R> => effect,
          onSome: ({ id, key }) => Effect.withSpan(underKey(digestIdempotencyKey(key), id), "IdempotentExecution.run")
        })
      )
    },
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
