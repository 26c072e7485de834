import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import * as Statement from "@effect/sql/Statement"
import { TransactionConnection } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Context, Effect, Option, String } from "effect"
import type { Pool } from "pg"

type Query = (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<object>, SqlError>

/** Queries on any connection of the pool, without the client's span and scope; none without a pool. */
export class DirectQueries extends Context.Reference<DirectQueries>()("@berth/infra/DirectQueries", {
  defaultValue: (): Option.Option<Query> => Option.none()
}) {}

const { array: toCamelCase } = Statement.defaultTransforms(String.snakeToCamel, false)

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

const runDirectly = (
  query: Option.Option<Query>,
  statement: Statement.Statement<object>
): Effect.Effect<ReadonlyArray<object>, SqlError> =>
  Effect.withFiberRuntime(({ currentContext }) => {
    const isPlain =
      Option.isNone(Context.getOption(currentContext, TransactionConnection)) &&
      !Context.get(currentContext, SpanExportEnabled)
    return isPlain && Option.isSome(query) ? query.value(...statement.compile()) : statement
  })

/** Hot path: runs a statement directly, unless it belongs to a transaction or its span is exported. */
export const makeDirectly = Effect.map(
  DirectQueries,
  (query) => (statement: Statement.Statement<object>) => runDirectly(query, statement)
)
