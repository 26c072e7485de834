import { CreditGrants } from "@berth/domain/accounts/referrals/CreditGrants"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { convertCreditsToUnits } from "@berth/domain/shared/Money"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"
import { makeLedgerWriter } from "./LedgerWriter.ts"
import * as Repository from "../Repository.ts"

export const layer = Repository.layerEffect(
  CreditGrants,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ledger = makeLedgerWriter(sql, yield* IdGenerator)
    return CreditGrants.of({
      grant: (userId, credits) =>
        Effect.gen(function* () {
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
