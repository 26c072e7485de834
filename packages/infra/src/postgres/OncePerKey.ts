import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { ClaimId } from "@berth/domain/limits/IdempotencyKeys"
import { ClaimIsLost, OncePerKey, RequestClaim } from "@berth/domain/limits/OncePerKey"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { keyDigest } from "./IdempotencyKeys.ts"
import { first } from "./Rows.ts"

const Held = Schema.Struct({ firstClaimId: Schema.String, outcomeSealed: Schema.NullOr(Schema.String) })

const sealedAs = (id: string) => `idempotency_keys.outcome_sealed:${id}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const box = yield* SecretBox
  const ids = yield* IdGenerator

  /** The key's row, locked until the transaction ends: nobody takes the claim over while its effect is being written. */
  const hold = (id: string, claim: ClaimId) =>
    sql`
      select first_claim_id, outcome_sealed from idempotency_keys
      where id = ${id} and claim_id = ${claim} for update`.pipe(
      first(Held),
      Effect.flatMap(Option.match({ onNone: () => Effect.die(new ClaimIsLost()), onSome: Effect.succeed })),
      Effect.orDie
    )

  return OncePerKey.of({
    once: <A, I, E, R>(outcome: Schema.Schema<A, I>, effect: Effect.Effect<A, E, R>) => {
      const Outcome = Schema.parseJson(outcome)
      const underKey = (id: string, claim: ClaimId) =>
        Effect.gen(function* () {
          const { outcomeSealed } = yield* hold(id, claim)
          if (outcomeSealed !== null) {
            const text = Redacted.value(yield* Effect.orDie(box.open(outcomeSealed, sealedAs(id))))
            return yield* Effect.orDie(Schema.decode(Outcome)(text))
          }
          const made = yield* effect
          const text = yield* Effect.orDie(Schema.encode(Outcome)(made))
          const sealed = yield* box.seal(Redacted.make(text), sealedAs(id))
          yield* Effect.orDie(sql`update idempotency_keys set outcome_sealed = ${sealed} where id = ${id}`)
          return made
        })
      return Effect.flatMap(
        RequestClaim,
        Option.match({
          onNone: (): Effect.Effect<A, E, R> => effect,
          onSome: ({ id, key }) => Effect.withSpan(underKey(keyDigest(key), id), "OncePerKey.once")
        })
      )
    },
    reference: Effect.flatMap(
      RequestClaim,
      Option.match({
        onNone: (): Effect.Effect<string> => ids.next("req"),
        onSome: ({ id, key }) => Effect.map(hold(keyDigest(key), id), ({ firstClaimId }) => firstClaimId)
      })
    ).pipe(Effect.withSpan("OncePerKey.reference"))
  })
})

export const layer: Layer.Layer<OncePerKey, never, SqlClient | SecretBox | IdGenerator> = Layer.effect(OncePerKey, make)
