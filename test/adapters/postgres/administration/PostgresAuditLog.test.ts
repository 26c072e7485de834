import { makeCommandActor, makeUserActor } from "@berth/domain/administration/audit/AuditEntry"
import { AuditLog } from "@berth/domain/administration/audit/AuditLog"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { UserId } from "@berth/domain/shared/UserId"
import * as PostgresAuditLog from "@berth/infra/postgres/administration/PostgresAuditLog"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.merge(PostgresAuditLog.layer, PostgresTransaction.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const [ada, bob] = [UserId.make("usr_ada"), UserId.make("usr_bob")]
const administrator = makeUserActor(UserId.make("usr_root"))
const command = makeCommandActor("deploy")
const everything = { userId: Option.none(), actor: Option.none(), limit: 50, offset: 0 }

const read = (userId: UserId, actor = administrator) => ({
  actor,
  action: "user.read" as const,
  userId,
  reason: null,
  before: null,
  after: null,
  requestId: null
})

layer(Live, { excludeTestServices: true })("AuditLog", (it) => {
  it.effect("AuditLog.list returns the newest entries first, by user and by actor, with the full count", () =>
    Effect.gen(function* () {
      const log = yield* AuditLog
      const change = {
        actor: command,
        action: "user.change_plan" as const,
        userId: ada,
        reason: "a \u0000 test",
        before: { plan: "free" },
        after: { plan: "pro", count: 1, flag: true, none: null },
        requestId: "req_1"
      }
      yield* log.append(read(ada))
      yield* log.append(read(bob))
      yield* log.append(change)
      const all = yield* log.list(everything)
      assert.deepStrictEqual(
        all.entries.map(({ actor, userId }) => [actor, userId]),
        [
          [command, ada],
          [administrator, bob],
          [administrator, ada]
        ]
      )
      assert.deepInclude(all.entries[0], { ...change, reason: "a \uFFFD test" })
      assert.match(all.entries[0]?.id ?? "", /^aud_[0-9a-f]{32}$/)
      const ofAda = yield* log.list({ ...everything, userId: Option.some(ada), limit: 1 })
      assert.deepStrictEqual([ofAda.total, ofAda.entries], [2, all.entries.slice(0, 1)])
      const byRoot = yield* log.list({ ...everything, actor: Option.some(administrator), offset: 1 })
      assert.deepStrictEqual([byRoot.total, byRoot.entries], [2, all.entries.slice(2)])
    })
  )

  it.effect("AuditLog.append leaves no entry of a transaction that rolls back", () =>
    Effect.gen(function* () {
      const log = yield* AuditLog
      const { run } = yield* Transaction
      const before = yield* log.list(everything)
      yield* Effect.flip(run(Effect.zipRight(log.append(read(bob)), Effect.fail("rolled back"))))
      assert.deepStrictEqual(yield* log.list(everything), before)
    })
  )

  it.effect("The database rejects every change and removal of an audit entry", () =>
    Effect.gen(function* () {
      const log = yield* AuditLog
      yield* log.append(read(ada))
      const before = yield* log.list(everything)
      for (const statement of [
        sql`update audit_entries set reason = 'other'`,
        sql`delete from audit_entries`,
        sql`truncate audit_entries`
      ])
        assert.match(String((yield* Effect.flip(statement)).cause), /append-only/)
      assert.deepStrictEqual(yield* log.list(everything), before)
    })
  )
})
