import type { AnswerDelta } from "@berth/domain/interaction/answers/AnswerEvent"
import { type AnswerEnd, type AnswerSnapshot, AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { type MessageId, MessageState } from "@berth/domain/interaction/Conversation"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { countAffectedRows, decodeFirstRow } from "../Rows.ts"
import { readSqlErrorCode } from "../SqlErrors.ts"
import { toStorableText } from "../StorableText.ts"

/** Pieces wait this long for others, so that no piece costs a statement; somebody who comes back hears it this much later. */
const batchDelay = Duration.millis(40)
const retryDelay = Duration.seconds(1)
/** Rows of one statement, and pieces of one row, at most. */
const maximumBatchRows = 500
const maximumDeltasPerRow = 200

/** Consecutive pieces of one answer, to be one row. Its key is settled once it was tried: a retry must not say more under the same key. */
interface DeltaRow {
  readonly messageId: MessageId
  readonly n: number
  readonly texts: Array<string>
}

const AnswerRow = Schema.Struct({
  state: MessageState,
  deltaCount: Schema.NullOr(Schema.Int),
  failure: Schema.NullOr(Schema.String),
  rows: Schema.Array(Schema.Tuple(Schema.Int, Schema.Array(Schema.String)))
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const turn = yield* Effect.makeSemaphore(1)
  const waiting = yield* Effect.makeLatch(false)
  let rows: Array<DeltaRow> = []
  let inWork: Array<DeltaRow> = []
  let open = new Map<MessageId, DeltaRow>()

  const append = (id: MessageId, { n, text }: AnswerDelta) =>
    Effect.sync(() => {
      const last = open.get(id)
      if (last !== undefined && last.n + last.texts.length === n && last.texts.length < maximumDeltasPerRow) {
        last.texts.push(text)
        return
      }
      const row = { messageId: id, n, texts: [text] }
      rows.push(row)
      open.set(id, row)
      waiting.unsafeOpen()
    })

  const insert = (some: ReadonlyArray<DeltaRow>) =>
    Effect.flatMap(
      DateTime.now,
      (now) => sql`
        insert into answer_events ${sql.insert(
          some.map(({ messageId, n, texts }) => ({
            messageId,
            firstDelta: n,
            deltaCount: texts.length,
            deltas: JSON.stringify(texts),
            createdAt: DateTime.toDate(now)
          }))
        )}
        on conflict (message_id, first_delta) do nothing`
    )

  /** One at a time, so that whoever waited for its turn finds its pieces written, or writes them. What fails is kept for another try. */
  const write = turn.withPermits(1)(
    Effect.suspend(() => {
      const taken = rows
      rows = []
      inWork = taken
      open = new Map()
      waiting.unsafeClose()
      return Effect.forEach(Array.chunksOf(taken, maximumBatchRows), insert, { discard: true }).pipe(
        Effect.onError(() =>
          Effect.sync(() => {
            rows = [...taken, ...rows]
            waiting.unsafeOpen()
          })
        ),
        Effect.ensuring(
          Effect.sync(() => {
            inWork = []
          })
        )
      )
    })
  )

  const writeGathered = Effect.zipRight(waiting.await, Effect.delay(write, batchDelay)).pipe(
    Effect.catchAllCause((cause) =>
      Effect.logWarning("Pieces of answers could not be written and are tried again", cause).pipe(
        Effect.delay(retryDelay)
      )
    ),
    Effect.withTracerEnabled(false),
    Effect.forever
  )
  yield* Effect.forkScoped(Effect.interruptible(writeGathered))

  return AnswerStreams.of({
    append,
    // What cannot be written is missing for who comes back, and no reason to lose the answer.
    flush: Effect.fn("AnswerStreams.flush")(function* (id: MessageId) {
      yield* Effect.whenEffect(
        write,
        Effect.sync(
          () => rows.some(({ messageId }) => messageId === id) || inWork.some(({ messageId }) => messageId === id)
        )
      ).pipe(
        Effect.catchAll((error) =>
          Effect.logWarning("Pieces of an answer could not be written in time").pipe(
            Effect.annotateLogs({ messageId: id, code: readSqlErrorCode(error.cause) ?? "none" })
          )
        )
      )
    }),
    read: Effect.fn("AnswerStreams.read")(function* (id: MessageId, after: number) {
      const seen = yield* sql`
        select state, delta_count, failure, (
          select coalesce(json_agg(json_build_array(first_delta, deltas) order by first_delta), '[]') from answer_events
          where message_id = messages.id and first_delta + answer_events.delta_count > ${after + 1}
        ) as rows
        from messages where id = ${toStorableText(id)} and sender = 'user'`.pipe(
        decodeFirstRow(AnswerRow),
        Effect.orDie
      )
      return Option.match(seen, {
        onNone: (): AnswerSnapshot => ({ deltas: [], end: { state: "gone" } }),
        onSome: (found): AnswerSnapshot => ({ deltas: deltasAfter(found.rows, after), end: endOf(found) })
      })
    }),
    prune: Effect.fn("AnswerStreams.prune")(function* (before: DateTime.Utc) {
      return yield* countAffectedRows(sql`
        delete from answer_events where message_id in (
          select message_id from answer_events
          where message_id in (select message_id from answer_events where created_at < ${DateTime.toDate(before)})
          group by message_id having max(created_at) < ${DateTime.toDate(before)}
        ) and not exists (
          select from messages where messages.id = answer_events.message_id and state = 'pending'
        )`).pipe(Effect.orDie)
    })
  })
})

/** The pieces behind `after`, as far as none is missing. */
const deltasAfter = (
  rows: ReadonlyArray<readonly [number, ReadonlyArray<string>]>,
  after: number
): ReadonlyArray<AnswerDelta> => {
  const pieces: Array<AnswerDelta> = []
  for (const [start, texts] of rows)
    for (const [index, text] of texts.entries())
      if (start + index === after + pieces.length + 1) pieces.push({ type: "delta", n: start + index, text })
  return pieces
}

const endOf = ({ deltaCount, failure, state }: typeof AnswerRow.Type): AnswerEnd => {
  switch (state) {
    case "pending":
      return { state }
    case "answered":
      return { state, deltaCount: deltaCount ?? 0 }
    case "failed":
      return { state, deltaCount, reason: failure ?? "the process that worked on it has ended" }
  }
}

export const layer: Layer.Layer<AnswerStreams, never, SqlClient> = Layer.scoped(AnswerStreams, make)
