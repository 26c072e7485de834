import { IdentityProvider, LinkedIdentity } from "@berth/domain/signin/identities/LinkedIdentity"
import { LinkedIdentityRepository } from "@berth/domain/signin/identities/LinkedIdentityRepository"
import { DateTime, Effect, Schema } from "effect"
import { execute, mapFirstRow, mapRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const LinkedRow = Schema.Struct({
  provider: IdentityProvider,
  issuer: Schema.String,
  subject: Schema.String,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromDate
})
const toLinked = (row: typeof LinkedRow.Type) => LinkedIdentity.make(row)

export const layer = Repository.layer(LinkedIdentityRepository, (sql) => ({
  lock: ({ issuer, provider, subject }) =>
    Effect.gen(function* () {
      // Advisory lock: the row may not exist yet.
      const name = toStorableText(JSON.stringify(["berth.identity", provider, issuer, subject]))
      yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
    }),
  find: ({ issuer, provider, subject }) =>
    sql`
      select * from linked_identities
      where provider = ${provider} and issuer = ${toStorableText(issuer)} and subject = ${toStorableText(subject)}`.pipe(
      mapFirstRow(LinkedRow, toLinked)
    ),
  listByUser: (userId) =>
    sql`
      select * from linked_identities where user_id = ${toStorableText(userId)}
      order by linked_at, provider, issuer, subject`.pipe(mapRows(LinkedRow, toLinked)),
  insert: (linked) =>
    execute(sql`
      insert into linked_identities ${sql.insert({
        provider: linked.provider,
        issuer: toStorableText(linked.issuer),
        subject: toStorableText(linked.subject),
        userId: linked.userId,
        linkedAt: DateTime.toDate(linked.linkedAt)
      })}`),
  removeByUser: (userId, since) =>
    execute(sql`
      delete from linked_identities
      where user_id = ${toStorableText(userId)} and linked_at >= ${DateTime.toDate(since)}`)
}))
