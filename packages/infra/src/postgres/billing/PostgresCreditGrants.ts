import { CreditGrants } from "@berth/domain/accounts/referrals/CreditGrants"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { convertCreditsToUnits, type Credits } from "@berth/domain/shared/Money"
import type { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer } from "effect"
import { makeLedgerWriter } from "./LedgerWriter.ts"

export const layer: Layer.Layer<CreditGrants, never, SqlClient | IdGenerator> = Layer.effect(
  CreditGrants,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ledger = makeLedgerWriter(sql, yield* IdGenerator)
    return CreditGrants.of({
      grant: Effect.fn("CreditGrants.grant")(function* (userId: UserId, credits: Credits) {
        const units = convertCreditsToUnits(credits)
        if (units === 0) return
        yield* sql
          .withTransaction(
            Effect.zipRight(
              sql`update users set credit_units = credit_units + ${units} where id = ${userId}`,
              ledger.move({ userId, from: "grants", to: "credits", units, cause: "credits-added" })
            )
          )
          .pipe(Effect.orDie)
      })
    })
  })
)
