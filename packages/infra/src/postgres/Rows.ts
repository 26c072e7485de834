import type { SqlError } from "@effect/sql/SqlError"
import { Array, Data, Effect, Either, Option, ParseResult, Schema } from "effect"
import { toColumnName } from "./ColumnNames.ts"

/** A row does not match its schema. Names the columns without their values, which may be secret. */
export class RowUnreadable extends Data.TaggedError("RowUnreadable")<{ readonly columns: ReadonlyArray<string> }> {}
/** A statement that always returns a row returned none. */
class RowMissing extends Data.TaggedError("RowMissing")<object> {}

/**
 * Lists the columns of `table` in a row's schema, for a statement that must not change when the table gets a new
 * column.
 */
export const listColumns = (table: string, row: { readonly fields: Schema.Struct.Fields }): string =>
  Object.keys(row.fields)
    .map((field) => `${table}.${toColumnName(field)}`)
    .join(", ")

type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError>

const unreadable = (error: ParseResult.ParseError) =>
  new RowUnreadable({
    columns: ParseResult.ArrayFormatter.formatErrorSync(error).map((issue) => issue.path.join("."))
  })

/**
 * Decodes every row of a statement; an error of the database or an invalid row is a defect. Row by row, since the parser
 * of a schema is cached by the identity of the schema, and an array schema would be created anew for each statement.
 */
const decodeEach = <A, I, B>(schema: Schema.Schema<A, I>, select: (rows: ReadonlyArray<A>) => B) => {
  const decodeRow = Schema.decodeUnknownEither(schema)
  // Hot path: one operation per statement.
  return (statement: Statement): Effect.Effect<B> =>
    Effect.matchEffect(statement, {
      onFailure: Effect.die,
      onSuccess: (rows) => {
        const decoded = Either.all(rows.map((row) => decodeRow(row)))
        return Either.isRight(decoded) ? Effect.succeed(select(decoded.right)) : Effect.die(unreadable(decoded.left))
      }
    })
}

export const decodeRows = <A, I>(schema: Schema.Schema<A, I>) => decodeEach(schema, (rows) => rows)

export const mapRows = <A, I, B>(schema: Schema.Schema<A, I>, map: (row: A) => B) =>
  decodeEach(schema, (rows): ReadonlyArray<B> => rows.map((row) => map(row)))

export const decodeFirstRow = <A, I>(schema: Schema.Schema<A, I>) => decodeEach(schema, (rows) => Array.head(rows))

export const mapFirstRow = <A, I, B>(schema: Schema.Schema<A, I>, map: (row: A) => B) =>
  decodeEach(schema, (rows) => Option.map(Array.head(rows), map))

export const decodeSingleRow = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = decodeFirstRow(schema)
  return (statement: Statement): Effect.Effect<A> =>
    Effect.flatMap(
      decode(statement),
      Option.match({ onNone: () => Effect.die(new RowMissing()), onSome: Effect.succeed })
    )
}

const decodeCount = decodeSingleRow(Schema.Struct({ count: Schema.Int }))

/** Returns the number that a statement selects as `count(*)::int`. */
export const readCount = (statement: Statement): Effect.Effect<number> =>
  Effect.map(decodeCount(statement), ({ count }) => count)

const decodeExists = decodeSingleRow(Schema.Struct({ exists: Schema.Boolean }))

/** Returns the truth value that a statement selects as `exists (...)`. */
export const readExists = (statement: Statement): Effect.Effect<boolean> =>
  Effect.map(decodeExists(statement), ({ exists }) => exists)

/** Runs a statement; an error of the database is a defect. */
export const execute = (statement: Statement): Effect.Effect<void> =>
  Effect.matchEffect(statement, { onFailure: Effect.die, onSuccess: () => Effect.void })

const Outcome = Schema.Struct({ rowCount: Schema.NullOr(Schema.Number) })

interface Write {
  readonly raw: Effect.Effect<unknown, SqlError>
}

/**
 * Returns the number of rows that a statement wrote; an error of the database is a defect. Not for `sql.insert`, whose
 * names a raw statement leaves in camel case.
 */
export const countAffectedRows = (statement: Write): Effect.Effect<number> =>
  statement.raw.pipe(
    Effect.flatMap(Schema.decodeUnknown(Outcome)),
    Effect.map((outcome) => outcome.rowCount ?? 0),
    Effect.orDie
  )

/** Whether a statement wrote a row; an error of the database is a defect. */
export const affectsRow = (statement: Write): Effect.Effect<boolean> =>
  Effect.map(countAffectedRows(statement), (rows) => rows > 0)
