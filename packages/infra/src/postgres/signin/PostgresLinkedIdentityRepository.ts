import { type ExternalIdentity, IdentityProvider, LinkedIdentity } from "@berth/domain/signin/identities/LinkedIdentity"
import { LinkedIdentityRepository } from "@berth/domain/signin/identities/LinkedIdentityRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"

const LinkedRow = Schema.Struct({
  provider: IdentityProvider,
  issuer: Schema.String,
  subject: Schema.String,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromDate
})
const toLinked = (row: typeof LinkedRow.Type) => LinkedIdentity.make(row)

export const layer: Layer.Layer<LinkedIdentityRepository, never, SqlClient> = Layer.effect(
  LinkedIdentityRepository,
  Effect.map(SqlClient, (sql) =>
    LinkedIdentityRepository.of({
      lock: Effect.fn("LinkedIdentityRepository.lock")(function* ({ issuer, provider, subject }: ExternalIdentity) {
        // Advisory lock: the row may not exist yet.
        const name = toStorableText(JSON.stringify(["berth.identity", provider, issuer, subject]))
        yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
      }),
      find: Effect.fn("LinkedIdentityRepository.find")(function* ({ issuer, provider, subject }: ExternalIdentity) {
        const row = yield* sql`
          select * from linked_identities
          where provider = ${provider} and issuer = ${toStorableText(issuer)} and subject = ${toStorableText(subject)}`.pipe(
          decodeFirstRow(LinkedRow)
        )
        return Option.map(row, toLinked)
      }),
      listByUser: Effect.fn("LinkedIdentityRepository.listByUser")(function* (userId: UserId) {
        const rows = yield* sql`
          select * from linked_identities where user_id = ${toStorableText(userId)}
          order by linked_at, provider, issuer, subject`.pipe(decodeRows(LinkedRow))
        return rows.map(toLinked)
      }),
      insert: Effect.fn("LinkedIdentityRepository.insert")((linked: LinkedIdentity) =>
        execute(sql`
          insert into linked_identities ${sql.insert({
            provider: linked.provider,
            issuer: toStorableText(linked.issuer),
            subject: toStorableText(linked.subject),
            userId: linked.userId,
            linkedAt: DateTime.toDate(linked.linkedAt)
          })}`)
      ),
      removeByUser: Effect.fn("LinkedIdentityRepository.removeByUser")((userId: UserId, since: DateTime.Utc) =>
        execute(sql`
          delete from linked_identities
          where user_id = ${toStorableText(userId)} and linked_at >= ${DateTime.toDate(since)}`)
      )
    })
  )
)
