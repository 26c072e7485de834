import { type ModelCall, ModelUsage } from "@berth/domain/ai/ModelUsage"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer } from "effect"
import { storableText } from "./Storable.ts"

export const layer: Layer.Layer<ModelUsage, never, SqlClient> = Layer.effect(
  ModelUsage,
  Effect.map(SqlClient, (sql) =>
    ModelUsage.of({
      // A user or an agent deleted while the model answered leaves the call without a name, not without a record.
      record: Effect.fn("ModelUsage.record")(function* (call: ModelCall) {
        const now = yield* DateTime.now
        yield* sql`
          insert into model_usage
            (user_id, agent_id, provider, model, prompt_tokens, completion_tokens, cost_usd, own_key, created_at)
          values (
            (select id from users where id = ${call.userId}), (select id from agents where id = ${call.agentId}),
            ${call.provider}, ${storableText(call.model)}, ${call.promptTokens}, ${call.completionTokens},
            ${call.costUsd}, ${call.ownKey}, ${DateTime.toDate(now)}
          )`.pipe(Effect.orDie)
      })
    })
  )
)
