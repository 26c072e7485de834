import type { SqlError } from "@effect/sql/SqlError"
import { type Duration, Effect } from "effect"
import { isRowRejected, readSqlErrorCode } from "./SqlErrors.ts"

const maximumBatchRows = 500

interface BatchWriterOptions<Row> {
  /** Name of the rows in logs. */
  readonly rows: string
  readonly insert: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>
  /** Time from the first row of a batch to its statement. */
  readonly delay: Duration.DurationInput
  readonly retryDelay: Duration.DurationInput
  /** Maximum waiting rows; further rows are dropped. */
  readonly maximumWaiting: number
  /** Runs before the waiting rows are written; they must not change afterwards. */
  readonly onTaken?: () => void
}

interface BatchWriter<Row> {
  /** False if the row is dropped. */
  readonly add: (row: Row) => boolean
  /** Writes all waiting rows. Exclusive: a caller that waited finds its rows written, or writes them. */
  readonly write: Effect.Effect<void, SqlError>
  /** Whether a matching row is not yet written. */
  readonly holds: (matches: (row: Row) => boolean) => boolean
}

/**
 * Writes rows in batches, and the waiting rows when the scope closes. Drops only rows that the database rejects; after
 * any other failure the rows wait for a retry.
 */
export const makeBatchWriter = Effect.fnUntraced(function* <Row>({
  delay,
  insert,
  maximumWaiting,
  onTaken = () => undefined,
  retryDelay,
  rows: name
}: BatchWriterOptions<Row>) {
  const turn = yield* Effect.makeSemaphore(1)
  const hasRows = yield* Effect.makeLatch(false)
  let waiting: Array<Row> = []
  let inWork: ReadonlyArray<Row> = []

  // The error's detail can contain a row, which is part of a conversation.
  const annotate = (error: SqlError) =>
    Effect.annotateLogs({ rows: name, code: readSqlErrorCode(error.cause) ?? "none" })

  const insertEach = (rows: ReadonlyArray<Row>, written: (count: number) => void) =>
    Effect.forEach(
      rows,
      (row) =>
        insert([row]).pipe(
          Effect.catchIf(
            ({ cause }) => isRowRejected(cause),
            (error) => Effect.logError("Row not written").pipe(annotate(error))
          ),
          Effect.zipRight(Effect.sync(() => written(1)))
        ),
      { discard: true }
    )

  const writeTaken = (taken: ReadonlyArray<Row>) =>
    Effect.suspend(() => {
      let count = 0
      const written = (more: number) => {
        count += more
      }
      const writeBatch = (from: number) => {
        const batch = taken.slice(from, from + maximumBatchRows)
        return insert(batch).pipe(
          Effect.zipRight(Effect.sync(() => written(batch.length))),
          Effect.catchIf(
            ({ cause }) => isRowRejected(cause),
            () => insertEach(batch, written)
          )
        )
      }
      return Effect.iterate(0, {
        while: (from) => from < taken.length,
        body: (from) => Effect.as(writeBatch(from), from + maximumBatchRows)
      }).pipe(
        Effect.onError(() =>
          Effect.sync(() => {
            waiting = [...taken.slice(count), ...waiting]
            hasRows.unsafeOpen()
          })
        ),
        Effect.asVoid
      )
    })

  const write = turn.withPermits(1)(
    Effect.suspend(() => {
      onTaken()
      inWork = waiting
      waiting = []
      hasRows.unsafeClose()
      return Effect.ensuring(
        writeTaken(inWork),
        Effect.sync(() => {
          inWork = []
        })
      )
    })
  )

  const writeGathered = Effect.zipRight(hasRows.await, Effect.delay(Effect.uninterruptible(write), delay)).pipe(
    Effect.catchAll((error) =>
      Effect.logWarning("Rows not written, retrying").pipe(annotate(error), Effect.delay(retryDelay))
    ),
    Effect.withTracerEnabled(false),
    Effect.forever
  )
  // The fiber ends before the finalizer writes the remaining rows.
  yield* Effect.addFinalizer(() =>
    Effect.catchAll(write, (error) =>
      Effect.logError("Rows lost").pipe(annotate(error), Effect.annotateLogs({ count: waiting.length }))
    )
  )
  yield* Effect.forkScoped(Effect.interruptible(writeGathered))

  return {
    add: (row) => {
      if (waiting.length >= maximumWaiting) return false
      waiting.push(row)
      hasRows.unsafeOpen()
      return true
    },
    write,
    holds: (matches) => waiting.some(matches) || inWork.some(matches)
  } satisfies BatchWriter<Row>
})
