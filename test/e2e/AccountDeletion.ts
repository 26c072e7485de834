import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, type Vitest } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Option, Stream } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { readRuntimePid, listRuntimeProcesses } from "./RuntimeProcesses.ts"
import { type Berth, repeatUntil } from "./BerthProcess.ts"
import * as Records from "./ServiceDatabase.ts"
import { type SignedUpClient, signUpClient, openWebClient } from "./WebClient.ts"
import type { UserId } from "@berth/domain/shared/UserId"

/** The Berth whose accounts are deleted while its programs are killed. */
export class DeletionBerth extends Context.Tag("@berth/test/DeletionBerth")<DeletionBerth, Berth>() {}

/** A user with a running agent and a conversation. */
const ownerWithRunningAgent = Effect.gen(function* () {
  const berth = yield* DeletionBerth
  const person = yield* signUpClient(berth.webUrl)
  yield* Records.insertSubscription(person.userId, "pro")
  const { id } = yield* person.provision("Ada")
  yield* person.untilRunning(id)
  yield* person.chat("Hello")
  return { ...person, agentId: id }
})

const kill = (pid: number) => Effect.sync(() => process.kill(pid, "SIGKILL"))

/** Kills programs of the supervisor and waits until they are restarted, not until they are ready. */
const killPrograms = (...names: ReadonlyArray<"server" | "worker">) =>
  Effect.gen(function* () {
    const berth = yield* DeletionBerth
    const before = yield* berth.pids
    yield* Effect.forEach(names, (name) => kill(before[name]))
    yield* repeatUntil(
      Effect.map(berth.pids, (now) => names.every((name) => now[name] !== before[name] && isProcessAlive(now[name])))
    )
  })

const directoryOf = (userId: UserId) =>
  Effect.map(DeletionBerth, ({ place }) => join(place.dataDirectory, "instances", userId))

/** Waits until no process and no file of the instance remains. */
const untilCleared = (userId: UserId) =>
  Effect.gen(function* () {
    const directory = yield* directoryOf(userId)
    yield* repeatUntil(Effect.sync(() => !existsSync(directory)))
    yield* repeatUntil(Effect.map(listRuntimeProcesses(userId), (pids) => pids.length === 0))
  })

/** Rows of any table that refer to the user. */
const rowsOf = (userId: UserId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const columns = yield* sql<{ table: string; column: string }>`
      select table_name as table, column_name as column from information_schema.columns
      where table_schema = 'public' and (column_name in ('user_id', 'owner_id') or (table_name, column_name) = ('users', 'id'))`
    const found = yield* Effect.forEach(columns, ({ column, table }) =>
      Effect.map(sql`select from ${sql(table)} where ${sql(column)} = ${userId}`, (rows) =>
        rows.map(() => `${table}.${column}`)
      )
    )
    return found.flat()
  })

const expectGone = (person: SignedUpClient) =>
  Effect.gen(function* () {
    const berth = yield* DeletionBerth
    yield* untilCleared(person.userId)
    assert.deepStrictEqual(yield* rowsOf(person.userId), [])
    assert.strictEqual((yield* person.raw("GET", "/api/settings")).status, 401)
    // The address is free.
    const next = yield* signUpClient(berth.webUrl, "next", person.account)
    assert.notStrictEqual(next.userId, person.userId)
    assert.deepInclude((yield* next.raw("GET", "/api/agents")).body, { count: 0 })
  })

const deletion = (person: SignedUpClient) =>
  person.raw("DELETE", "/api/settings", { body: { password: person.account.password } })

/** Adds tests that need `DRAIN_SECONDS` of a few seconds. */
export const accountDeletion = (it: Vitest.MethodsNonLive<DeletionBerth | SqlClient | PgClient, true>) => {
  it.effect(
    "An account that is deleted loses its instance, files and streams, without effect on others",
    Effect.fn(function* () {
      const berth = yield* DeletionBerth
      const [person, other] = yield* Effect.all([ownerWithRunningAgent, ownerWithRunningAgent], {
        concurrency: "unbounded"
      })
      const elsewhere = yield* openWebClient(berth.webUrl)
      yield* elsewhere.signIn(person.account)
      const pid = Option.getOrThrow(yield* readRuntimePid(berth.place.dataDirectory, person.userId))
      const streaming = yield* Effect.fork(
        Effect.exit(Stream.runCollect(person.events("/api/agent", { message: "Tell me a long story" })))
      )
      const { body, status } = yield* deletion(person)
      assert.strictEqual(status, 200)
      assert.deepInclude(body, { success: true })
      assert.strictEqual((yield* elsewhere.raw("GET", "/api/settings")).status, 401)
      assert.isFalse(Exit.isInterrupted(yield* Fiber.join(streaming)))
      yield* expectGone(person)
      assert.isFalse(isProcessAlive(pid))
      assert.include((yield* other.chat("Still there?")).reply, "Still there?")
      const sql = yield* SqlClient
      // Paid units remain in the ledger, balanced.
      const [books] = yield* sql<{ units: number; entries: number }>`
        select sum(units)::int as units, count(*)::int as entries from ledger_entries where former_user is not null`
      assert.strictEqual(books?.units, 0)
      assert.isAbove(books?.entries ?? 0, 0)
    })
  )

  it.effect(
    "An account that is deleted is removed although server and worker are killed right after the response",
    Effect.fn(function* () {
      const berth = yield* DeletionBerth
      const person = yield* ownerWithRunningAgent
      assert.strictEqual((yield* deletion(person)).status, 200)
      yield* killPrograms("server", "worker")
      yield* berth.ready
      yield* expectGone(person)
    })
  )

  it.effect(
    "An account that is deleted is removed or kept as a whole when they are killed during the request",
    Effect.fn(function* () {
      const berth = yield* DeletionBerth
      const people = yield* Effect.all([ownerWithRunningAgent, ownerWithRunningAgent, ownerWithRunningAgent], {
        concurrency: "unbounded"
      })
      const asking = yield* Effect.forEach(people, (person) => Effect.fork(Effect.exit(deletion(person))))
      const promisedTo = (userId: UserId) =>
        Effect.flatMap(SqlClient, (sql) =>
          Effect.map(
            sql`select from outbox where name = 'remove-account' and payload ->> 'userId' = ${userId}`,
            (rows) => rows.length > 0
          )
        )
      // As soon as one is accepted.
      yield* repeatUntil(
        Effect.map(
          Effect.forEach(people, ({ userId }) => promisedTo(userId)),
          (all) => all.some(Boolean)
        )
      )
      yield* killPrograms("server", "worker")
      yield* Effect.forEach(asking, Fiber.join)
      yield* berth.ready
      yield* Effect.forEach(
        people,
        (person) =>
          Effect.gen(function* () {
            if (yield* promisedTo(person.userId)) return yield* expectGone(person)
            yield* person.untilRunning(person.agentId)
            assert.include((yield* person.chat("Still there?")).reply, "Still there?")
          }),
        { concurrency: "unbounded" }
      )
    })
  )
}
