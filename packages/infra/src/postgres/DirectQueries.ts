import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import * as Statement from "@effect/sql/Statement"
import { SqlClient, TransactionConnection } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Context, Effect, Option } from "effect"
import type { Pool } from "pg"
import { toPropertyName } from "./ColumnNames.ts"
import { preparedMark } from "./PreparedStatements.ts"

type Query = (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<object>, SqlError>

/** Queries on any pool connection, without the client's span and scope; none without a pool. */
export class DirectQueries extends Context.Reference<DirectQueries>()("@berth/infra/DirectQueries", {
  defaultValue: (): Option.Option<Query> => Option.none()
}) {}

const { array: toCamelCase } = Statement.defaultTransforms(toPropertyName, false)

export const makeDirectQueries =
  (pool: Pool): Query =>
  (text, values) =>
    Effect.async((resume) => {
      pool.query<object>(text, [...values], (cause, result) =>
        resume(
          cause instanceof Error
            ? Effect.fail(new SqlError({ cause, message: "Failed to execute statement" }))
            : Effect.succeed(toCamelCase(result.rows))
        )
      )
    })

/** Whether a fiber with this context runs in a transaction. */
export const isInTransaction = (context: Context.Context<never>): boolean =>
  Option.isSome(Context.getOption(context, TransactionConnection))

const runDirectly = (
  query: Option.Option<Query>,
  statement: Statement.Statement<object>
): Effect.Effect<ReadonlyArray<object>, SqlError> =>
  Effect.withFiberRuntime(({ currentContext }) => {
    if (Context.get(currentContext, SpanExportEnabled)) return statement
    const transaction = Context.getOption(currentContext, TransactionConnection)
    if (Option.isSome(transaction))
      return Effect.map(
        transaction.value[0].execute(...statement.compile(), undefined),
        (rows: ReadonlyArray<object>) => toCamelCase(rows)
      )
    return Option.isSome(query) ? query.value(...statement.compile()) : statement
  })

/**
 * Hot path: prepares and runs a statement directly, on the connection of the running transaction if any, unless its
 * span is exported. Outside of a transaction, an interruption does not cancel the statement.
 */
export const makeDirectly = Effect.map(Effect.all([DirectQueries, SqlClient]), ([query, sql]) => {
  const mark = sql.literal(preparedMark)
  return (statement: Statement.Fragment) => runDirectly(query, sql`${mark} ${statement}`)
})
export type Directly = Effect.Effect.Success<typeof makeDirectly>
