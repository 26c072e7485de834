import { UserId } from "@berth/domain/accounts/User"
import { type ExternalIdentity, IdentityProvider, LinkedIdentity } from "@berth/domain/signin/LinkedIdentity"
import { LinkedIdentityRepository } from "@berth/domain/signin/LinkedIdentityRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { all, first } from "./Rows.ts"
import { storableText } from "./Storable.ts"

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
      hold: Effect.fn("LinkedIdentityRepository.hold")(function* ({ issuer, provider, subject }: ExternalIdentity) {
        // There may be no row to lock yet.
        const name = storableText(JSON.stringify(["berth.identity", provider, issuer, subject]))
        yield* sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.pipe(Effect.orDie)
      }),
      find: Effect.fn("LinkedIdentityRepository.find")(function* ({ issuer, provider, subject }: ExternalIdentity) {
        const row = yield* sql`
          select * from linked_identities
          where provider = ${provider} and issuer = ${storableText(issuer)} and subject = ${storableText(subject)}`.pipe(
          first(LinkedRow),
          Effect.orDie
        )
        return Option.map(row, toLinked)
      }),
      listOf: Effect.fn("LinkedIdentityRepository.listOf")(function* (userId: UserId) {
        const rows = yield* sql`
          select * from linked_identities where user_id = ${storableText(userId)}
          order by linked_at, provider, issuer, subject`.pipe(all(LinkedRow), Effect.orDie)
        return rows.map(toLinked)
      }),
      insert: Effect.fn("LinkedIdentityRepository.insert")(function* (linked: LinkedIdentity) {
        yield* sql`
          insert into linked_identities ${sql.insert({
            provider: linked.provider,
            issuer: storableText(linked.issuer),
            subject: storableText(linked.subject),
            userId: linked.userId,
            linkedAt: DateTime.toDate(linked.linkedAt)
          })}`.pipe(Effect.orDie)
      }),
      removeAllOf: Effect.fn("LinkedIdentityRepository.removeAllOf")(function* (userId: UserId) {
        yield* sql`delete from linked_identities where user_id = ${storableText(userId)}`.pipe(Effect.orDie)
      })
    })
  )
)
