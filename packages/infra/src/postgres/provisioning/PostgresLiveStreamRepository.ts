import {
  broadcastIdleTimeout,
  LiveStream,
  LiveStreamId,
  liveLimits
} from "@berth/domain/provisioning/live-streams/LiveStream"
import { LiveLimitReached, LiveStreamNotFound } from "@berth/domain/provisioning/live-streams/LiveStreamErrors"
import { LiveStreamRepository, type LiveUpload } from "@berth/domain/provisioning/live-streams/LiveStreamRepository"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime, Duration, Effect, Option, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeFirstRow, decodeRows, execute, mapFirstRow } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const StreamRow = Schema.Struct({
  ...LiveStream.fields,
  startedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  lastUploadAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
const FileRow = Schema.Struct({ content: Schema.Uint8ArrayFromSelf, uploadedAt: Schema.DateTimeUtcFromDate })
const Name = Schema.Struct({ name: Schema.String })
const Id = Schema.Struct({ id: LiveStreamId })
const Agent = Schema.Struct({ agentId: AgentId })
const Storage = Schema.Struct({ ownerId: UserId, streams: Schema.Int, bytes: Schema.NumberFromString })
const Broadcast = Schema.Struct({ id: LiveStreamId, wasActive: Schema.Boolean, isLate: Schema.Boolean })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  // One clock for uploads of all processes.
  const ago = (time: Duration.Duration) => sql`now() - make_interval(secs => ${Duration.toSeconds(time)})`

  const after = (time: Duration.Duration) => sql`now() + make_interval(secs => ${Duration.toSeconds(time)})`

  const toTime = (nanos: bigint) => sql`to_timestamp(${Number(nanos / 1000n)}::float8 / 1e6)`

  const columns = sql.literal(
    "stream.id, stream.agent_id, agents.owner_id, stream.playback_url, stream.started_at, stream.ended_at, stream.last_upload_at"
  )
  const findBy = (column: "id" | "agent_id" | "key_hash", value: string) =>
    sql`
      select ${columns} from live_streams as stream join agents on agents.id = stream.agent_id
      where stream.${sql(column)} = ${toStorableText(value)}`.pipe(mapFirstRow(StreamRow, (row) => new LiveStream(row)))

  /** Counts an upload in the stream's window and records the broadcast. None for a wrong key or an exhausted window. */
  const countUpload = (keyHash: string, { content, endsBroadcast, receivedAt }: LiveUpload) =>
    sql`
      with before as (
        select id,
          coalesce(ended_at is null and last_upload_at > ${ago(broadcastIdleTimeout)}, false) as was_active,
          coalesce(ended_at > ${toTime(receivedAt)}, false) as is_late,
          coalesce(window_started_at < ${ago(liveLimits.window)}, true) as is_new
        from live_streams where key_hash = ${keyHash} and agent_id is not null for update
      )
      update live_streams set
        window_started_at = case when is_new then now() else window_started_at end,
        window_uploads = case when is_new then 0 else window_uploads end + 1,
        window_bytes = case when is_new then 0 else window_bytes end + ${content.length},
        last_upload_at = now(),
        started_at = case when was_active or is_late or ${endsBroadcast} then started_at else now() end,
        ended_at = case
          when is_late or ${endsBroadcast} and not was_active and ended_at is not null then ended_at
          when ${endsBroadcast} then ${toTime(receivedAt)}
        end
      from before
      where live_streams.id = before.id and (
        is_new
        or (
          window_uploads < ${liveLimits.uploadsPerWindow}
          and window_bytes + ${content.length} <= ${liveLimits.bytesPerWindow}
        )
      )
      returning live_streams.id, was_active, is_late`.pipe(decodeFirstRow(Broadcast))

  /** Deletes the oldest files above the stream's share, segments before playlists. */
  const evict = (id: LiveStreamId, maximumBytes: number) =>
    sql`
      delete from live_files where stream_id = ${id} and name in (
        select name from (
          select name, sum(byte_length) over newest as total, row_number() over newest as place
          from live_files where stream_id = ${id}
          window newest as (order by name like '%.m3u8' desc, listed_at desc, uploaded_at desc, name desc)
        ) as kept where total > ${maximumBytes} or place > ${liveLimits.storedFilesPerStream}
      )`

  return LiveStreamRepository.of({
    insert: ({ keyHash, ...stream }) =>
      Effect.gen(function* () {
        const values = {
          ...stream,
          keyHash: Option.getOrNull(keyHash),
          createdAt: DateTime.toDate(yield* DateTime.now)
        }
        yield* execute(sql`insert into live_streams ${sql.insert(values)}`)
      }),
    find: (id) => findBy("id", id),
    findByAgent: (agentId) => findBy("agent_id", agentId),
    findByKeyHash: (hash) => findBy("key_hash", hash),
    expireKey: (agentId, dueIn) =>
      affectsRow(sql`
        update live_streams set key_hash = null, key_due_at = ${after(dueIn)}
        where agent_id = ${agentId} and (key_due_at is null or key_due_at <= now())`),
    claimDueKeys: (retryIn) =>
      sql`
        update live_streams set key_due_at = ${after(retryIn)}
        where key_due_at <= now() and agent_id is not null returning agent_id`.pipe(
        decodeRows(Agent),
        Effect.map(Array.map(({ agentId }) => agentId))
      ),
    setKeyHash: (id, keyHash) =>
      execute(sql`
        update live_streams set key_hash = ${Option.getOrNull(keyHash)}, key_due_at = null where id = ${id}`),
    store: (keyHash, upload) =>
      Effect.gen(function* () {
        const { content, endsBroadcast, listed, name, receivedAt } = upload
        const counted = yield* countUpload(keyHash, upload)
        if (Option.isNone(counted))
          return yield* Option.isNone(yield* findBy("key_hash", keyHash))
            ? new LiveStreamNotFound()
            : new LiveLimitReached({ limit: "bandwidth", retryAfter: liveLimits.window })
        const { id, isLate, wasActive } = counted.value
        // With different clocks, a process could be ignored for longer than uploads overlap.
        yield* execute(sql`
          insert into live_files (stream_id, name, content, byte_length, uploaded_at, listed_at)
          values (${id}, ${name}, ${content}, ${content.length}, ${toTime(receivedAt)}, now())
          on conflict (stream_id, name) do update set
            content = excluded.content, byte_length = excluded.byte_length,
            uploaded_at = excluded.uploaded_at, listed_at = excluded.listed_at
          where live_files.uploaded_at not between excluded.uploaded_at and excluded.uploaded_at + interval '10 seconds'`)
        if (listed.length > 0)
          yield* execute(
            sql`update live_files set listed_at = now() where stream_id = ${id} and ${sql.in("name", listed)}`
          )
        yield* Effect.orDie(evict(id, upload.maximumBytes))
        return { hasStarted: !wasActive && !endsBroadcast && !isLate, hasEnded: wasActive && endsBroadcast }
      }),
    removeFile: (id, name) => execute(sql`delete from live_files where stream_id = ${id} and name = ${name}`),
    readFile: (id, name) =>
      sql`
        select content, uploaded_at from live_files
        where stream_id = ${toStorableText(id)} and name = ${name}`.pipe(decodeFirstRow(FileRow)),
    listFileNames: (id) =>
      sql`select name from live_files where stream_id = ${toStorableText(id)}`.pipe(
        decodeRows(Name),
        Effect.map((rows) => new Set(Array.map(rows, ({ name }) => name)))
      ),
    listStorage: sql`
      select owner_id, count(distinct stream_id)::int as streams, sum(byte_length)::text as bytes
      from live_files join live_streams on live_streams.id = stream_id join agents on agents.id = agent_id
      group by owner_id`.pipe(decodeRows(Storage)),
    recordActive: (active) =>
      Effect.gen(function* () {
        const ids = JSON.stringify([...active])
        const isActive = sql`id in (select jsonb_array_elements_text(${ids}::jsonb))`
        const started = yield* sql`
          update live_streams set started_at = now(), ended_at = null
          where key_hash is null and agent_id is not null and (started_at is null or ended_at is not null) and ${isActive}
          returning agent_id`.pipe(decodeRows(Agent))
        const ended = yield* sql`
          update live_streams set ended_at = now()
          where key_hash is null and agent_id is not null and started_at is not null and ended_at is null and not (${isActive})
          returning agent_id`.pipe(decodeRows(Agent))
        const agentsOf = Array.map(({ agentId }: typeof Agent.Type) => agentId)
        return { started: agentsOf(started), ended: agentsOf(ended) }
      }),
    endIdle: (idle) =>
      sql`
        update live_streams set ended_at = now()
        where agent_id is not null and ended_at is null and last_upload_at < ${ago(idle)} returning agent_id`.pipe(
        decodeRows(Agent),
        Effect.map(Array.map(({ agentId }) => agentId))
      ),
    pruneFiles: (retention) =>
      countAffectedRows(sql`
        delete from live_files using live_streams
        where live_streams.id = stream_id and listed_at < ${ago(retention)}
          and (name not like '%.m3u8' or last_upload_at < ${ago(retention)})`),
    listAbandoned: sql`select id from live_streams where agent_id is null limit 100`.pipe(
      decodeRows(Id),
      Effect.map(Array.map(({ id }) => id))
    ),
    remove: (id) => execute(sql`delete from live_streams where id = ${id}`)
  })
})

export const layer = Repository.layerEffect(LiveStreamRepository, make, { untraced: ["listStorage", "listAbandoned"] })
