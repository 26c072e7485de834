import type { AnswerPart } from "@berth/domain/interaction/answers/AnswerEvent"
import { type AnswerSnapshot, AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import {
  abandonedMessageFailure,
  ChatSessionId,
  type MessageId,
  MessageState
} from "@berth/domain/interaction/Conversation"
import { MessageRow, selectMessageColumns } from "./MessageRow.ts"
import { ToolActivity } from "@berth/domain/skills/tools/ToolActivity"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import * as Repository from "../Repository.ts"
import { makeBatchWriter } from "../BatchWriter.ts"
import { makeDirectly } from "../DirectQueries.ts"
import { countAffectedRows, decodeFirstRow } from "../Rows.ts"
import { readSqlErrorCode } from "../SqlErrors.ts"
import { toStorableText } from "../StorableText.ts"

/** Batching delay: bounds the number of statements, and delays reads of other processes. */
const batchDelay = Duration.millis(40)
const retryDelay = Duration.seconds(1)
const maximumDeltasPerRow = 200
/** Further deltas are not resumable. */
const maximumWaitingRows = 10_000

/** A text or a tool call. */
type StoredPart = string | ToolActivity

/**
 * Consecutive parts of an answer. A row is closed before its first write, since a retry must not write more under the
 * same key.
 */
interface DeltaRow {
  readonly messageId: MessageId
  readonly n: number
  readonly parts: Array<StoredPart>
}

const AnswerRow = Schema.Struct({
  state: MessageState,
  deltaCount: Schema.NullOr(Schema.Int),
  failure: Schema.NullOr(Schema.String),
  sessionId: ChatSessionId,
  seq: Schema.Int,
  rows: Schema.Array(Schema.Tuple(Schema.Int, Schema.Array(Schema.Union(Schema.String, ToolActivity))))
})

const gone: AnswerSnapshot = { deltas: [], state: { state: "gone" } }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const directly = yield* makeDirectly
  let open = new Map<MessageId, DeltaRow>()
  const writer = yield* makeBatchWriter<DeltaRow>({
    rows: "answer_events",
    delay: batchDelay,
    retryDelay,
    maximumWaiting: maximumWaitingRows,
    onTaken: () => {
      open = new Map()
    },
    insert: (rows) =>
      Effect.flatMap(DateTime.now, (now) =>
        directly(sql`
          insert into answer_events (message_id, first_delta, delta_count, deltas, created_at)
          select message_id, first_delta, delta_count, deltas::json, ${DateTime.toDate(now)}::timestamptz
          from unnest(
            ${rows.map(({ messageId }) => messageId)}::text[],
            ${rows.map(({ n }) => n)}::integer[],
            ${rows.map(({ parts }) => parts.length)}::integer[],
            ${rows.map(({ parts }) => JSON.stringify(parts))}::text[]
          ) as parts (message_id, first_delta, delta_count, deltas)
          on conflict (message_id, first_delta) do nothing`)
      )
  })

  const append = (id: MessageId, parts: ReadonlyArray<AnswerPart>) => {
    for (const part of parts) {
      const { n } = part
      const stored: StoredPart = part.type === "delta" ? part.text : part.call
      const last = open.get(id)
      if (last !== undefined && last.n + last.parts.length === n && last.parts.length < maximumDeltasPerRow) {
        last.parts.push(stored)
        continue
      }
      const row: DeltaRow = { messageId: id, n, parts: [stored] }
      if (writer.add(row)) open.set(id, row)
    }
  }

  return AnswerStreams.of({
    append,
    // Best-effort: missing deltas affect resumed streams only.
    flush: Effect.fnUntraced(function* (id: MessageId) {
      if (!writer.holds(({ messageId }) => messageId === id)) return
      yield* writer.write.pipe(
        Effect.catchAll((error) =>
          Effect.logWarning("Answer deltas not written before the answer's end").pipe(
            Effect.annotateLogs({ messageId: id, code: readSqlErrorCode(error.cause) ?? "none" })
          )
        )
      )
    }),
    read: Effect.fnUntraced(function* (id: MessageId, after: number): Effect.fn.Return<AnswerSnapshot> {
      const found = yield* sql`
        select state, delta_count, failure, session_id, seq, (
          select coalesce(json_agg(json_build_array(first_delta, deltas) order by first_delta), '[]') from answer_events
          where message_id = messages.id and first_delta + answer_events.delta_count > ${after + 1}
        ) as rows
        from messages where id = ${toStorableText(id)} and sender = 'user'`.pipe(decodeFirstRow(AnswerRow))
      if (Option.isNone(found)) return gone
      const deltas = selectDeltas(found.value.rows, after)
      const { deltaCount, failure, seq, sessionId, state } = found.value
      switch (state) {
        case "pending":
          return { deltas, state: { state } }
        case "failed":
          return {
            deltas,
            state: { state, deltaCount, reason: failure ?? abandonedMessageFailure }
          }
        case "answered": {
          const reply = yield* sql`
            select ${selectMessageColumns(sql)} from messages
            where session_id = ${sessionId} and seq = ${seq + 1} and sender = 'agent'`.pipe(decodeFirstRow(MessageRow))
          // Deleted between the two statements.
          if (Option.isNone(reply)) return gone
          return { deltas, state: { state, deltaCount: deltaCount ?? 0, reply: reply.value } }
        }
      }
    }),
    prune: (before: DateTime.Utc) =>
      countAffectedRows(sql`
        delete from answer_events where message_id in (
          select message_id from answer_events
          where message_id in (select message_id from answer_events where created_at < ${DateTime.toDate(before)})
          group by message_id having max(created_at) < ${DateTime.toDate(before)}
        ) and not exists (
          select from messages where messages.id = answer_events.message_id and state = 'pending'
        )`)
  })
})

/** Returns the parts after `after` up to the first gap. */
const selectDeltas = (
  rows: ReadonlyArray<readonly [number, ReadonlyArray<StoredPart>]>,
  after: number
): ReadonlyArray<AnswerPart> => {
  const found: Array<AnswerPart> = []
  for (const [start, parts] of rows)
    for (const [index, part] of parts.entries()) {
      const n = start + index
      if (n !== after + found.length + 1) continue
      found.push(typeof part === "string" ? { type: "delta", n, text: part } : { type: "tool", n, call: part })
    }
  return found
}

export const layer = Repository.layerEffect(AnswerStreams, make, { untraced: ["append"] })
