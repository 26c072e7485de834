import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { SqlClient } from "@effect/sql/SqlClient"
import { Clock, DateTime, Duration, Effect, Layer } from "effect"
import { countAffectedRows } from "../Rows.ts"
import { isDatabaseOutage } from "../SqlErrors.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"

/** How long a call may wait to be written: as much of the record, at most, is gone with a process that is killed. */
const batchDelay = Duration.millis(250)

/** Rows of one statement. */
const maximumBatchRows = 500

/** Calls that may wait to be written. Only a database that does not answer lets so many gather; further ones are not recorded. */
const maximumWaiting = 10_000

/** How long nothing is tried after a database that did not answer. */
const retryDelay = Duration.seconds(1)

const rowOf = (call: ModelCallRecord, now: number) => ({
  user_id: call.userId,
  agent_id: call.agentId,
  provider: call.provider,
  model: toStorableText(call.model),
  prompt_tokens: call.promptTokens,
  completion_tokens: call.completionTokens,
  cost_usd: call.costUsd,
  own_key: call.ownKey,
  created_at: DateTime.formatIso(DateTime.unsafeMake(now))
})

type Row = ReturnType<typeof rowOf>

/**
 * Calls are written together a moment after they were answered: a statement for each would cost more than passing the
 * answer on. What waits when the process ends in peace is written before the database closes.
 */
export const layer: Layer.Layer<ModelUsage, never, SqlClient> = Layer.scoped(
  ModelUsage,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const someWait = yield* Effect.makeLatch(false)
    const waiting: Array<Row> = []

    // A user or an agent deleted while the model answered leaves the call without a name, not without a record.
    const insert = (rows: ReadonlyArray<Row>) => sql`
      insert into model_usage
        (user_id, agent_id, provider, model, prompt_tokens, completion_tokens, cost_usd, own_key, created_at)
      select (select id from users where id = call.user_id), (select id from agents where id = call.agent_id),
        provider, model, prompt_tokens, completion_tokens, cost_usd, own_key, created_at
      from json_to_recordset(${toStorableJson(rows)}::json) as call (
        user_id text, agent_id text, provider text, model text, prompt_tokens integer, completion_tokens integer,
        cost_usd numeric, own_key boolean, created_at timestamptz
      )`

    /** One row that the database does not take must not keep the others out. */
    const insertEach = (rows: ReadonlyArray<Row>) =>
      Effect.forEach(
        rows,
        (row) =>
          Effect.catchAllCause(insert([row]), (cause) =>
            Effect.logError("The usage of a model could not be recorded", cause)
          ),
        { discard: true }
      )

    /** Writes some of what waits; false when the database does not answer, and all of it waits still. */
    const write = Effect.suspend(() => {
      const rows = waiting.splice(0, maximumBatchRows)
      return insert(rows).pipe(
        Effect.as(true),
        Effect.catchAll((error) => {
          if (!isDatabaseOutage(error.cause)) return Effect.as(insertEach(rows), true)
          waiting.unshift(...rows)
          return Effect.as(Effect.logWarning("The usage of models waits for the database", error), false)
        })
      )
    }).pipe(Effect.withSpan("ModelUsage.write"), Effect.uninterruptible)

    const writeAll: Effect.Effect<boolean> = Effect.suspend(() =>
      waiting.length === 0
        ? Effect.succeed(true)
        : Effect.flatMap(write, (isDone) => (isDone ? writeAll : Effect.succeed(false)))
    )

    const writeWhatWaits = someWait.await.pipe(
      Effect.zipRight(Effect.sleep(batchDelay)),
      Effect.zipRight(someWait.close),
      Effect.zipRight(writeAll),
      Effect.tap((isDone) => (isDone ? Effect.void : Effect.zipRight(Effect.sleep(retryDelay), someWait.open)))
    )

    // Of the two the fiber ends first; then what it was not in time for is written.
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(writeAll, (isDone) =>
        isDone ? Effect.void : Effect.logError(`The usage of ${waiting.length} calls of models could not be recorded`)
      )
    )
    yield* Effect.forkScoped(Effect.interruptible(Effect.forever(writeWhatWaits)))

    return ModelUsage.of({
      record: (call) =>
        waiting.length < maximumWaiting
          ? Effect.map(Clock.currentTimeMillis, (now) => {
              if (waiting.push(rowOf(call, now)) === 1) someWait.unsafeOpen()
            })
          : Effect.logError("The usage of a model is not recorded: the database takes nothing"),
      prune: Effect.fn("ModelUsage.prune")((before: DateTime.Utc) =>
        Effect.orDie(countAffectedRows(sql`delete from model_usage where created_at < ${DateTime.toDate(before)}`))
      )
    })
  })
)
