import { CreditAdjustments, CreditsInsufficient } from "@berth/domain/billing/credits/CreditAdjustments"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { convertCreditsToUnits, convertUnitsToCredits } from "@berth/domain/shared/Money"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { countAffectedRows, decodeSingleRow } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { makeLedgerWriter } from "./LedgerWriter.ts"
import * as Repository from "../Repository.ts"

const Balance = Schema.Struct({ creditUnits: UnitsColumn })

export const layer = Repository.layerEffect(
  CreditAdjustments,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ledger = makeLedgerWriter(sql, yield* IdGenerator)
    return CreditAdjustments.of({
      adjust: (userId, amount) =>
        Effect.gen(function* () {
          const units = convertCreditsToUnits(amount)
          const changed = yield* countAffectedRows(sql`
            update users set credit_units = credit_units + ${units}
            where id = ${userId} and (${units} > 0 or credit_units + ${units} >= 0)`)
          if (changed === 0) {
            const { creditUnits } = yield* sql`select credit_units from users where id = ${userId}`.pipe(
              decodeSingleRow(Balance)
            )
            return yield* new CreditsInsufficient({ balance: convertUnitsToCredits(creditUnits) })
          }
          yield* Effect.orDie(ledger.move({ userId, from: "grants", to: "credits", units, cause: "credits-adjusted" }))
        })
    })
  })
)
