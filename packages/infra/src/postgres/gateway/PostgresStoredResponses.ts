import {
  maximumBytesOfChain,
  ResponseChainTooLong,
  StoredResponses
} from "@berth/domain/gateway/responses/StoredResponses"
import { DateTime, Effect, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeRows, execute, mapFirstRow } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"
import { currentDate } from "../DatabaseClock.ts"

const items = Schema.Array(Schema.Unknown)
const Link = Schema.Struct({ input: items, output: items, isContinued: Schema.Boolean })
const Output = Schema.Struct({ id: Schema.String, output: items, isTooLong: Schema.Boolean })
const Input = Schema.Struct({ input: items })
const Whole = Schema.Struct({ response: Schema.Object })

const maximumChain = 1_000

export const layer = Repository.layer(StoredResponses, (sql) => ({
  save: (ownerId, { id, input, output, previousId, response }) =>
    Effect.flatMap(currentDate, (now) =>
      execute(sql`
        insert into model_responses (id, user_id, previous_id, input, output, response, created_at)
        select ${id}, users.id, ${previousId}, ${toStorableJson(input)}::jsonb, ${toStorableJson(output)}::jsonb,
          ${toStorableJson(response)}::jsonb, ${now}
        from users where users.id = ${ownerId}
        on conflict (id) do nothing`)
    ),
  findChain: (ownerId, id) =>
    sql`
      with recursive chain as (
        select *, 1 as depth, octet_length(input::text)::bigint + octet_length(output::text) as bytes
        from model_responses where id = ${toStorableText(id)} and user_id = ${ownerId}
        union all
        select earlier.*, depth + 1, bytes + octet_length(earlier.input::text) + octet_length(earlier.output::text)
        from model_responses earlier
        join chain on earlier.id = chain.previous_id and earlier.user_id = chain.user_id
        where depth < ${maximumChain} and bytes < ${maximumBytesOfChain}
      )
      select input, output, exists (
        select from model_responses earlier where earlier.id = chain.previous_id and earlier.user_id = chain.user_id
      ) as is_continued
      from chain order by depth desc`.pipe(
      decodeRows(Link),
      Effect.filterOrFail(
        ([oldest]) => oldest?.isContinued !== true,
        () => new ResponseChainTooLong()
      )
    ),
  find: (ownerId, id) =>
    sql`
      select response || jsonb_build_object('output', output) as response from model_responses
      where id = ${toStorableText(id)} and user_id = ${ownerId} and response is not null`.pipe(
      mapFirstRow(Whole, ({ response }) => response)
    ),
  findInput: (ownerId, id) =>
    sql`select input from model_responses where id = ${toStorableText(id)} and user_id = ${ownerId}`.pipe(
      mapFirstRow(Input, ({ input }) => input)
    ),
  remove: (ownerId, id) =>
    affectsRow(sql`delete from model_responses where id = ${toStorableText(id)} and user_id = ${ownerId}`),
  findOutputs: (ownerId, ids) =>
    sql`
      with found as (
        select id, output from model_responses
        where user_id = ${ownerId} and ${sql.in("id", ids.map(toStorableText))}
      ), total as (
        select sum(octet_length(output::text)) > ${maximumBytesOfChain} as is_too_long from found
      )
      select id, case when is_too_long then '[]'::jsonb else output end as output, is_too_long
      from found cross join total`.pipe(
      decodeRows(Output),
      Effect.filterOrFail(
        ([first]) => first?.isTooLong !== true,
        () => new ResponseChainTooLong()
      )
    ),
  prune: (before, bytesOfOwner) =>
    countAffectedRows(sql`
      delete from model_responses where created_at < ${DateTime.toDate(before)} or id in (
        select id from (
          select id, sum(pg_column_size(input) + pg_column_size(output) + coalesce(pg_column_size(response), 0))
            over (partition by user_id order by created_at desc, id) as bytes
          from model_responses
        ) kept where bytes > ${bytesOfOwner}
      )`)
}))
