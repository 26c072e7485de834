import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { currentTime } from "@berth/domain/shared/HotPath"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect } from "effect"
import { makeBatchWriter } from "../BatchWriter.ts"
import { countAffectedRows } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

/** Maximum loss of records when a process is killed. */
const batchDelay = Duration.millis(250)

/** Further calls are not recorded; reached only while the database does not respond. */
const maximumWaiting = 10_000

const retryDelay = Duration.seconds(1)

const rowOf = (call: ModelCallRecord, now: DateTime.Utc) => ({
  user_id: call.userId,
  agent_id: call.agentId,
  provider: call.provider,
  model: toStorableText(call.model),
  prompt_tokens: call.promptTokens,
  completion_tokens: call.completionTokens,
  cost_usd: call.costUsd,
  own_key: call.ownKey,
  created_at: DateTime.formatIso(now)
})

/** Records model calls in batches, since a statement per call would cost more than forwarding the answer. */
export const layer = Repository.layerEffect(
  ModelUsage,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const writer = yield* makeBatchWriter<ReturnType<typeof rowOf>>({
      rows: "model_usage",
      delay: batchDelay,
      retryDelay,
      maximumWaiting,
      // If the user or agent was deleted during the call, the record has no id of it.
      insert: (rows) => sql`
        insert into model_usage
          (user_id, agent_id, provider, model, prompt_tokens, completion_tokens, cost_usd, own_key, created_at)
        select (select id from users where id = call.user_id), (select id from agents where id = call.agent_id),
          provider, model, prompt_tokens, completion_tokens, cost_usd, own_key, created_at
        from json_to_recordset(${toStorableJson(rows)}::json) as call (
          user_id text, agent_id text, provider text, model text, prompt_tokens integer, completion_tokens integer,
          cost_usd numeric, own_key boolean, created_at timestamptz
        )`
    })

    return ModelUsage.of({
      record: (call) =>
        Effect.flatMap(currentTime, (now) =>
          writer.add(rowOf(call, now)) ? Effect.void : Effect.logError("Model usage not recorded, too much is waiting")
        ),
      prune: (before) => countAffectedRows(sql`delete from model_usage where created_at < ${DateTime.toDate(before)}`)
    })
  }),
  { untraced: ["record"] }
)
