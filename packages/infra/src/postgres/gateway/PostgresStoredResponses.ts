import { StoredResponses } from "@berth/domain/gateway/responses/StoredResponses"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { countAffectedRows, decodeRows } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"

const Row = Schema.Struct({
  id: Schema.String,
  previousId: Schema.NullOr(Schema.String),
  input: Schema.Array(Schema.Unknown),
  output: Schema.Array(Schema.Unknown)
})

const maximumChain = 1_000

export const layer: Layer.Layer<StoredResponses, never, SqlClient> = Layer.effect(
  StoredResponses,
  Effect.map(SqlClient, (sql) =>
    StoredResponses.of({
      save: Effect.fn("StoredResponses.save")(function* (ownerId, { id, input, output, previousId }) {
        const now = DateTime.toDate(yield* DateTime.now)
        yield* Effect.orDie(sql`
          insert into model_responses (id, user_id, previous_id, input, output, created_at)
          select ${id}, users.id, ${previousId}, ${toStorableJson(input)}::jsonb, ${toStorableJson(output)}::jsonb, ${now}
          from users where users.id = ${ownerId}
          on conflict (id) do nothing`)
      }),
      findChain: Effect.fn("StoredResponses.findChain")((ownerId, id) =>
        sql`
          with recursive chain as (
            select model_responses.*, 1 as depth from model_responses
            where id = ${toStorableText(id)} and user_id = ${ownerId}
            union all
            select earlier.*, depth + 1 from model_responses earlier
            join chain on earlier.id = chain.previous_id and earlier.user_id = chain.user_id
            where depth < ${maximumChain}
          )
          select id, previous_id, input, output from chain order by depth desc`.pipe(decodeRows(Row), Effect.orDie)
      ),
      findAll: Effect.fn("StoredResponses.findAll")((ownerId, ids) =>
        sql`
          select id, previous_id, input, output from model_responses
          where user_id = ${ownerId} and ${sql.in("id", ids.map(toStorableText))}`.pipe(decodeRows(Row), Effect.orDie)
      ),
      prune: Effect.fn("StoredResponses.prune")((before) =>
        Effect.orDie(countAffectedRows(sql`delete from model_responses where created_at < ${DateTime.toDate(before)}`))
      )
    })
  )
)
