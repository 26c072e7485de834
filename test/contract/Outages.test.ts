import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Scope } from "effect"
import { sql } from "../support/Sql.ts"
import { makeTcpProxy } from "../support/TcpProxy.ts"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

class DatabaseProxy extends Context.Tag("@berth/test/DatabaseProxy")<
  DatabaseProxy,
  Effect.Effect.Success<ReturnType<typeof makeTcpProxy>>
>() {}

const Live = Layer.unwrapScoped(
  Effect.gen(function* () {
    const proxy = yield* makeTcpProxy(yield* migratedDatabase)
    return Layer.merge(App.layer({ databaseUrl: proxy.url }), Layer.succeed(DatabaseProxy, proxy))
  })
)

const LiveWithShortStatements = Layer.unwrapScoped(
  Effect.gen(function* () {
    const proxy = yield* makeTcpProxy(yield* migratedDatabase)
    const app = App.layer({ databaseUrl: proxy.url, statementTimeout: Duration.seconds(4) })
    return Layer.merge(app, Layer.succeed(DatabaseProxy, proxy))
  })
)

const assertUnavailable = (answer: HttpCallResponse) => {
  assertError(answer, { status: 503, code: "service_unavailable" })
  assert.strictEqual(answer.body["error"], "Service unavailable")
  const seconds = Number(answer.headers["retry-after"])
  assert.isTrue(Number.isInteger(seconds) && seconds >= 1 && seconds <= 10, answer.headers["retry-after"])
}

const whileShut = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(DatabaseProxy, ({ acceptConnections, rejectConnections }) =>
    Effect.acquireUseRelease(
      rejectConnections,
      () => effect,
      () => acceptConnections
    )
  )

layer(Live, { excludeTestServices: true })("While the database is out of reach", (it) => {
  it.effect(
    "Requests during an outage of the database are 503 immediately, in the shape of their group, and succeed after it",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const start = `/api/instance/${owner.user.id}/start`
        const account = { email: "new@example.com", password: "correct horse battery" }
        const calls = [
          App.web({ method: "GET", path: "/api/settings", as: owner }),
          App.web({ method: "GET", path: "/api/agents", as: owner }),
          App.web({ method: "GET", path: `/api/agents/${owner.agent.id}`, as: owner }),
          App.web({ method: "POST", path: "/api/agents/provision", as: owner, json: { name: "a" } }),
          App.web({
            method: "POST",
            path: "/api/agents/provision",
            as: owner,
            json: { name: "a" },
            headers: { "idempotency-key": "key" }
          }),
          App.web({ method: "POST", path: "/api/chat", as: owner, json: { message: "hello" } }),
          App.web({ method: "POST", path: "/api/register", json: account }),
          App.web({ method: "POST", path: "/api/auth/callback/credentials", json: account }),
          App.web({ method: "POST", path: start, as: owner })
        ]
        yield* whileShut(
          Effect.forEach(calls, (call) =>
            Effect.gen(function* () {
              const [took, answer] = yield* Effect.timed(call)
              assertUnavailable(answer)
              // A pool connection would be awaited for 15 seconds.
              assert.isBelow(Duration.toMillis(took), 12_000)
            })
          )
        )
        assert.strictEqual((yield* App.web({ method: "GET", path: "/api/settings", as: owner })).status, 200)

        const lifecycle = yield* whileShut(App.web({ method: "POST", path: start, as: owner }))
        assert.deepInclude(lifecycle.body, { success: false, status: "error" })
        assert.strictEqual((yield* App.web({ method: "GET", path: "/api/agents", as: owner })).body["count"], 1)
        const nobody = yield* whileShut(App.web({ method: "GET", path: "/api/settings" }))
        assertError(nobody, { status: 401, code: "unauthorized" })
        assert.strictEqual((yield* whileShut(App.backend({ method: "GET", path: "/health/live" }))).status, 200)
      })
  )

  it.effect("Requests rejected during an outage of the database have no effect", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("label")
      const provision = App.web({
        method: "POST",
        path: "/api/agents/provision",
        as: owner,
        json: { name: "a" },
        headers: { "idempotency-key": "again" }
      })
      assertUnavailable(yield* whileShut(provision))
      assert.strictEqual((yield* provision).status, 201)
      assert.strictEqual((yield* App.web({ method: "GET", path: "/api/agents", as: owner })).body["count"], 1)
    })
  )

  it.effect("Requests that write are 503 while the disk of the database is full", () =>
    Effect.gen(function* () {
      yield* sql`
        create function fill_disk() returns trigger language plpgsql as $$
        begin
          raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
        end $$`
      yield* sql`create trigger full_disk before insert on users execute function fill_disk()`
      const account = { email: "full@example.com", password: "correct horse battery" }
      const register = App.web({ method: "POST", path: "/api/register", json: account })
      assertUnavailable(yield* Effect.ensuring(register, Effect.orDie(sql`drop function fill_disk cascade`)))
      assert.strictEqual((yield* register).status, 200)
    })
  )

  it.scoped("An exhausted connection pool is 503 within the wait of a client", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const owner = yield* createOwnerWithAgent()
      const taken = yield* Scope.make()
      yield* Effect.replicateEffect(Scope.extend(sql.reserve, taken), 10)
      const [took, answer] = yield* Effect.timed(App.web({ method: "GET", path: "/api/settings", as: owner })).pipe(
        Effect.ensuring(Scope.close(taken, yield* Effect.exit(Effect.void)))
      )
      assertUnavailable(answer)
      assert.isBelow(Duration.toMillis(took), 30_000)
      assert.strictEqual((yield* App.web({ method: "GET", path: "/api/settings", as: owner })).status, 200)
    })
  )
})

layer(LiveWithShortStatements, { excludeTestServices: true })("Requests while the database stops", (it) => {
  it.effect("Requests while the database stops end with 503 in five seconds, also with a connection", () =>
    Effect.gen(function* () {
      const { acceptConnections, dropTraffic } = yield* DatabaseProxy
      const owner = yield* createOwnerWithAgent()
      const calls = [
        App.web({ method: "GET", path: "/api/settings", as: owner }),
        App.web({ method: "GET", path: "/api/agents", as: owner }),
        App.web({ method: "POST", path: "/api/settings", as: owner, json: { name: "Ada" } })
      ]
      // A later request is the limit: a slow machine delays it too.
      const late = Effect.delay(App.backend({ method: "GET", path: "/health/live" }), "6 seconds").pipe(
        Effect.zipRight(Effect.dieMessage("requests took more than six seconds"))
      )
      const answers = yield* Effect.acquireUseRelease(
        dropTraffic,
        () =>
          Effect.raceFirst(
            Effect.all([...calls, ...calls, ...calls, ...calls], { concurrency: "unbounded" }),
            Effect.interruptible(late)
          ),
        () => acceptConnections
      )
      for (const answer of answers) assertUnavailable(answer)
      assert.strictEqual((yield* App.web({ method: "GET", path: "/api/settings", as: owner })).status, 200)
      const slow = yield* Effect.flip(sql`select pg_sleep(6)`)
      assert.strictEqual(slow._tag, "SqlError")
    })
  )
})

layer(App.layer({ maxWaitingHashes: 4 }), { excludeTestServices: true })("A storm of sign-ins", (it) => {
  it.effect("A storm of sign-ins is rejected above the hash queue, and delays no other requests", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      // Each from a separate address.
      const signIn = Effect.suspend(() =>
        App.web({
          method: "POST",
          path: "/api/auth/callback/credentials",
          json: { email: "nobody@example.com", password: "correct horse battery" }
        })
      )
      const storm = yield* Effect.forkDaemon(Effect.replicateEffect(signIn, 40, { concurrency: "unbounded" }))
      const reads: Array<number> = []
      while (storm.unsafePoll() === null) {
        const [took, read] = yield* Effect.timed(App.web({ method: "GET", path: "/api/settings", as: owner }))
        assert.strictEqual(read.status, 200)
        reads.push(Duration.toMillis(took))
      }
      const answers = yield* Effect.flatten(storm.await)
      const refused = answers.filter(({ status }) => status === 503)
      assert.isAbove(refused.length, 0)
      for (const answer of refused) assertUnavailable(answer)
      for (const answer of answers.filter(({ status }) => status !== 503))
        assertError(answer, { status: 401, code: "credentials_invalid" })
      assert.isAbove(answers.length - refused.length, 4)
      assert.isAbove(reads.length, 0)
    })
  )
})
