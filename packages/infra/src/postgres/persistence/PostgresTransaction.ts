import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { Effect, Layer } from "effect"

export const layer: Layer.Layer<Transaction, never, SqlClient> = Layer.effect(
  Transaction,
  Effect.map(SqlClient, (sql) =>
    Transaction.of({
      // Repositories convert statement errors to defects, so only errors of BEGIN and the connection remain.
      run: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
        Effect.catchAll(sql.withTransaction(effect), (error) =>
          error instanceof SqlError ? Effect.die(error) : Effect.fail(error)
        )
    })
  )
)
