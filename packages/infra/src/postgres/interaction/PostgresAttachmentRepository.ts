import { Attachment, type AttachmentId } from "@berth/domain/interaction/attachments/Attachment"
import { type AttachmentOwner, AttachmentRepository } from "@berth/domain/interaction/attachments/AttachmentRepository"
import type { ChatSessionId } from "@berth/domain/interaction/Conversation"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import * as Repository from "../Repository.ts"
import { affectsRow, countAffectedRows, decodeFirstRow, decodeRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"

const ContentRow = Schema.Struct({ ...Attachment.fields, content: Schema.Uint8ArrayFromSelf })
const ImageRow = Schema.Struct({
  id: Schema.String,
  mediaType: Schema.String,
  base64: Schema.String
})
const TextRow = Schema.Struct({ id: Schema.String, text: Schema.String })

export const layer = Repository.layerEffect(
  AttachmentRepository,
  Effect.map(SqlClient, (sql) => {
    const ofOwner = ({ agentId, userId }: AttachmentOwner) => sql`
      attachments.agent_id = (select agents.id from agents
        where agents.id = ${toStorableText(agentId)} and agents.owner_id = ${userId})`
    const within = (ids: ReadonlyArray<AttachmentId>) =>
      sql`attachments.id = any(${ids.map((id) => toStorableText(id))}::text[])`
    return AttachmentRepository.of({
      insert: Effect.fnUntraced(function* (
        { agentId, userId }: AttachmentOwner,
        { id, mediaType, name, size }: Attachment,
        content: Uint8Array,
        { leastBytes, ownerBytes }: { readonly ownerBytes: number; readonly leastBytes: number }
      ) {
        const now = DateTime.toDate(yield* DateTime.now)
        // Serializes the uploads of an owner, so that the limit is exact.
        return yield* sql
          .withTransaction(
            Effect.zipRight(
              sql`select pg_advisory_xact_lock(hashtextextended(${`attachments of ${userId}`}, 0))`,
              affectsRow(sql`
              insert into attachments (id, agent_id, name, media_type, size, content, created_at)
              select ${id}, agents.id, ${toStorableText(name)}, ${mediaType}, ${size}::integer, ${Buffer.from(content)}::bytea, ${now}
              from agents
              where agents.id = ${agentId} and agents.owner_id = ${userId} and greatest(${size}::bigint, ${leastBytes}::bigint) + (
                select coalesce(sum(greatest(stored.size, ${leastBytes}::bigint)), 0) from attachments stored
                join agents owned on owned.id = stored.agent_id where owned.owner_id = ${userId}
              ) <= ${ownerBytes}::bigint`)
            )
          )
          .pipe(Effect.orDie)
      }),
      find: Effect.fnUntraced(function* (owner: AttachmentOwner, ids: ReadonlyArray<AttachmentId>) {
        const rows = yield* sql`
          select id, name, media_type, size from attachments where ${ofOwner(owner)} and ${within(ids)}`.pipe(
          decodeRows(Attachment)
        )
        return ids.flatMap((id) => rows.find((row) => row.id === id) ?? [])
      }),
      findContent: (owner: AttachmentOwner, id: AttachmentId) =>
        sql`
          select id, name, media_type, size, content from attachments
          where ${ofOwner(owner)} and ${within([id])}`.pipe(decodeFirstRow(ContentRow)),
      readContents: Effect.fnUntraced(function* (owner: AttachmentOwner, ids: ReadonlyArray<AttachmentId>) {
        // PostgreSQL breaks base64 into lines.
        const rows = yield* sql`
          select id, media_type, translate(encode(content, 'base64'), E'\\n', '') as base64 from attachments
          where ${ofOwner(owner)} and ${within(ids)}`.pipe(decodeRows(ImageRow))
        return new Map(rows.map(({ id, ...image }) => [id, image]))
      }),
      readTexts: Effect.fnUntraced(function* (owner: AttachmentOwner, ids: ReadonlyArray<AttachmentId>) {
        if (ids.length === 0) return new Map()
        const rows = yield* sql`
          select id, convert_from(content, 'UTF8') as text from attachments
          where ${ofOwner(owner)} and ${within(ids)} and media_type = 'text/plain'`.pipe(decodeRows(TextRow))
        return new Map(rows.map(({ id, text }) => [id, text]))
      }),
      claim: (owner: AttachmentOwner, ids: ReadonlyArray<AttachmentId>, sessionId: ChatSessionId) =>
        countAffectedRows(sql`
          update attachments set session_id = ${sessionId}
          where ${ofOwner(owner)} and ${within(ids)} and (session_id is null or session_id = ${sessionId})`),
      prune: (before: DateTime.Utc) =>
        countAffectedRows(sql`
          delete from attachments where session_id is null and created_at < ${DateTime.toDate(before)}`)
    })
  })
)
