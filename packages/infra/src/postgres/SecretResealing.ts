import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { countAffectedRows, decodeRows, mapRows } from "./Rows.ts"
import { type SealedColumn, sealedColumns } from "./SealedColumns.ts"

const batchSize = 200

const SealedRow = Schema.Struct({
  place: Schema.String,
  id: Schema.String,
  context: Schema.String,
  sealed: Schema.String
})
const KeyCount = Schema.Struct({ keyId: Schema.String, rows: Schema.Number })

/** Number of values in a column by key. */
export interface SealedCount extends Schema.Schema.Type<typeof KeyCount> {
  readonly column: string
}

/** Counts the sealed values of every column by key. */
export const countSealedValues = Effect.gen(function* () {
  const sql = yield* SqlClient
  const counts = yield* Effect.forEach(sealedColumns, ({ name, table, value }) =>
    sql`
      select split_part(${sql.literal(value)}, '.', 2) as key_id, count(*)::int as rows from ${sql(table)}
      where ${sql.literal(value)} is not null group by 1 order by 1`.pipe(
      mapRows(KeyCount, (row) => ({ column: name, ...row }))
    )
  )
  return counts.flat()
}).pipe(Effect.withSpan("SecretResealing.count"))

/**
 * Reseals the values of a column that were sealed by another key; returns the number of values that cannot be opened.
 */
const resealColumn = Effect.fnUntraced(function* (column: SealedColumn, keyId: string) {
  const sql = yield* SqlClient
  const box = yield* SecretBox
  const value = sql.literal(column.value)
  const [before = "", after = ""] = column.assignment.split("%")

  const readBatch = (from: string) =>
    sql`
      select ctid::text as place, ${sql.literal(column.id)} as id, ${sql.literal(column.context)} as context,
        ${value} as sealed
      from ${sql(column.table)}
      where ${value} is not null and split_part(${value}, '.', 2) <> ${keyId} and ${sql.literal(column.id)} > ${from}
      order by 2 limit ${batchSize}`.pipe(decodeRows(SealedRow))

  /** Compare-and-set: a value replaced concurrently is kept. */
  const reseal = ({ context, place, sealed }: typeof SealedRow.Type) =>
    Effect.gen(function* () {
      const next = yield* box.seal(yield* box.open(sealed, context), context)
      yield* countAffectedRows(sql`
        update ${sql(column.table)} set ${sql.literal(before)}${next}${sql.literal(after)}
        where ctid = ${place}::tid and ${value} = ${sealed}`)
      return 0
    }).pipe(
      Effect.catchTag("SecretUndecryptable", ({ reason }) =>
        Effect.as(
          Effect.logError("Sealed value does not open").pipe(
            Effect.annotateLogs({ column: column.name, context, reason })
          ),
          1
        )
      )
    )

  return yield* Effect.iterate(
    { from: "", unreadable: 0, isDone: false },
    {
      while: ({ isDone }) => !isDone,
      body: ({ from, unreadable }) =>
        Effect.gen(function* () {
          const rows = yield* readBatch(from)
          const faults = yield* Effect.forEach(rows, reseal)
          return {
            from: rows.at(-1)?.id ?? from,
            unreadable: faults.reduce((sum, fault) => sum + fault, unreadable),
            isDone: rows.length < batchSize
          }
        })
    }
  )
})

/**
 * Reseals all values with the current key, whose id is `keyId`. Resumable: each value is one statement, and values of
 * the current key are skipped. Returns the number of values that cannot be opened.
 */
export const resealSecrets = (keyId: string) =>
  Effect.forEach(sealedColumns, (column) => resealColumn(column, keyId)).pipe(
    Effect.map((results) => results.reduce((sum, { unreadable }) => sum + unreadable, 0)),
    Effect.withSpan("SecretResealing.reseal")
  )
