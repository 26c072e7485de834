import { UserRepository } from "@berth/domain/accounts/UserRepository"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { uniqueName } from "../support/Samples.ts"
import { sql, untilLocked } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import { RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"

const password = "correct horse battery"
const path = "/api/settings"

const member = Effect.gen(function* () {
  const json = { email: `${yield* uniqueName("member")}@example.com`, password }
  const { body } = yield* App.web({ method: "POST", path: "/api/register", json })
  return { id: String(body["id"]), email: json.email, cookie: yield* signIn(json.email) }
})

const signIn = (email: string) =>
  Effect.gen(function* () {
    const answer = yield* App.web({ method: "POST", path: "/api/auth/callback/credentials", json: { email, password } })
    assert.strictEqual(answer.status, 200, answer.text)
    return String(answer.headers["set-cookie"]).split(";")[0] ?? ""
  })

const remove = (cookie: string, json?: unknown) =>
  App.web({ method: "DELETE", path, headers: { cookie }, ...(json === undefined ? {} : { json }) })

const statusOf = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path, headers: { cookie } }), ({ status }) => status)

const signedInBefore = (id: string, interval: string) =>
  sql`
      update sessions set created_at = created_at - ${interval}::interval,
        authenticated_at = authenticated_at - ${interval}::interval
      where user_id = ${id}`

const jobsFor = (id: string) =>
  sql`select queue, name from outbox where name = ${RemoveAccountJob.name} and payload ->> 'userId' = ${id}`

const confirmed = { confirm: true }
const unconfirmed = { status: 400, code: "account_deletion_unconfirmed" }
const incorrect = { status: 403, code: "deletion_password_incorrect" }
const tooOld = { status: 403, code: "recent_sign_in_required" }

layer(App.layer(), { excludeTestServices: true })("DELETE /api/settings", (it) => {
  it.effect("DELETE /api/settings deletes the account with the password, however old the sign-in is", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const { cookie, email, id } = yield* member
      const elsewhere = yield* signIn(email)
      yield* signedInBefore(id, "20 days")
      const answer = yield* remove(cookie, { password })
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.deepStrictEqual(answer.headers["set-cookie"], [
        `${cookieName}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`
      ])
      assert.deepStrictEqual([yield* statusOf(cookie), yield* statusOf(elsewhere)], [401, 401])
      assert.deepStrictEqual(yield* jobsFor(id), [{ queue: "tasks", name: "remove-account" }])
    })
  )

  it.effect("DELETE /api/settings deletes the account with a confirmation within ten minutes of a sign-in", () =>
    Effect.gen(function* () {
      const { cookie, id } = yield* member
      yield* signedInBefore(id, "9 minutes 50 seconds")
      assert.strictEqual((yield* remove(cookie, confirmed)).status, 200)
      assert.strictEqual(yield* statusOf(cookie), 401)
    })
  )

  it.effect("DELETE /api/settings deletes the account with a confirmation within ten minutes of a password check", () =>
    Effect.gen(function* () {
      const { cookie, id } = yield* member
      yield* signedInBefore(id, "1 hour")
      assertError(yield* remove(cookie, confirmed), tooOld)
      const json = { currentPassword: password, newPassword: "another horse battery" }
      const changed = yield* App.web({ method: "POST", path: "/api/settings/password", headers: { cookie }, json })
      assert.strictEqual(changed.status, 200, changed.text)
      assert.strictEqual((yield* remove(cookie, confirmed)).status, 200)
    })
  )

  it.effect(
    "DELETE /api/settings rejects an empty body, an older sign-in, a wrong password, and a password for an account without one",
    () =>
      Effect.gen(function* () {
        const { cookie, id } = yield* member
        for (const json of [undefined, {}, { password: null }, { confirm: null }, { confirm: false }])
          assertError(yield* remove(cookie, json), unconfirmed)
        assertError(yield* remove(cookie, { confirm: "true" }), { status: 400, code: "invalid_request" })
        assertError(yield* remove(cookie, { password: "wrong" }), incorrect)
        assertError(yield* remove(cookie, { password: "wrong", confirm: true }), incorrect)
        yield* signedInBefore(id, "10 minutes 1 second")
        assertError(yield* remove(cookie, confirmed), tooOld)
        assertError(yield* remove(cookie, { password: "" }), incorrect)
        yield* sql`update users set password_hash = null where id = ${id}`
        assertError(yield* remove(cookie, { password }), incorrect)
        assert.strictEqual(yield* statusOf(cookie), 200)
        assert.deepStrictEqual(yield* jobsFor(id), [])
      })
  )

  it.effect("DELETE /api/settings limits wrong passwords like failed sign-ins", () =>
    Effect.gen(function* () {
      const { cookie } = yield* member
      yield* Effect.replicateEffect(remove(cookie, { password: "wrong" }), 10)
      const answer = yield* remove(cookie, { password: "wrong" })
      assertError(answer, { status: 429, code: "rate_limit_exceeded" })
      assert.match(String(answer.headers["retry-after"]), /^\d+$/)
      assertError(yield* remove(cookie, { password }), { status: 429, code: "rate_limit_exceeded" })
    })
  )

  it.effect("DELETE /api/settings rejects requests without a session and pages of another origin", () =>
    Effect.gen(function* () {
      const { cookie } = yield* member
      assertError(yield* remove("", confirmed), { status: 401, code: "unauthorized" })
      const headers = { cookie, origin: "https://evil.example" }
      assertError(yield* App.web({ method: "DELETE", path, headers, json: { password } }), {
        status: 403,
        code: "origin_not_allowed"
      })
      assert.strictEqual(yield* statusOf(cookie), 200)
    })
  )

  it.effect("DELETE /api/settings frees the email at once for a new account without data of the old one", () =>
    Effect.gen(function* () {
      const { cookie, email, id } = yield* member
      assert.strictEqual((yield* remove(cookie, confirmed)).status, 200)
      const json = { email, password }
      assertError(yield* App.web({ method: "POST", path: "/api/auth/callback/credentials", json }), {
        status: 401,
        code: "credentials_invalid"
      })
      const again = yield* App.web({ method: "POST", path: "/api/register", json })
      assert.strictEqual(again.status, 200, again.text)
      assert.notStrictEqual(again.body["id"], id)
      assert.strictEqual(yield* statusOf(cookie), 401)
    })
  )

  it.effect("DELETE /api/settings succeeds for one of concurrent requests", () =>
    Effect.gen(function* () {
      const { run } = yield* Transaction
      const { cookie, email, id } = yield* member
      const others = yield* Effect.replicateEffect(signIn(email), 4)
      // All have reauthenticated, and wait for the sessions that they end.
      const asking = yield* run(
        Effect.gen(function* () {
          yield* sql`select from sessions where user_id = ${id} for update`
          const fibers = yield* Effect.forEach([cookie, ...others], (one) => Effect.forkDaemon(remove(one, confirmed)))
          yield* untilLocked(fibers.length)
          return fibers
        })
      )
      const answers = yield* Effect.forEach(asking, Fiber.join)
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 401, 401, 401, 401]
      )
      assert.strictEqual((yield* jobsFor(id)).length, 1)
    })
  )

  it.effect("DELETE /api/settings is 401 for a correct password whose account is deleted concurrently", () =>
    Effect.gen(function* () {
      const { run } = yield* Transaction
      const { cookie, id } = yield* member
      const asking = yield* run(
        Effect.gen(function* () {
          // The request has verified the password, and waits for the user whose rows are removed.
          yield* sql`select from users where id = ${id} for no key update`
          const fiber = yield* Effect.forkDaemon(remove(cookie, { password }))
          yield* untilLocked(1)
          yield* sql`delete from users where id = ${id}`
          return fiber
        })
      )
      assertError(yield* Fiber.join(asking), { status: 401, code: "unauthorized" })
      assert.deepStrictEqual(yield* jobsFor(id), [])
    })
  )

  it.effect("DELETE /api/settings makes a request 401 that finds its rows deleted", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const { run } = yield* Transaction
      const owner = yield* createOwnerWithAgent()
      const asking = yield* run(
        Effect.gen(function* () {
          yield* sql`select pg_advisory_xact_lock(hashtextextended(${`agents of ${owner.user.id}`}, 0))`
          const fiber = yield* Effect.forkDaemon(
            App.web({ method: "POST", path: "/api/agents/provision", as: owner, json: { name: "Too late" } })
          )
          yield* untilLocked(1)
          assert.strictEqual((yield* remove(owner.cookie, confirmed)).status, 200)
          return fiber
        })
      )
      assertError(yield* Fiber.join(asking), { status: 401, code: "unauthorized" })
      assert.notInclude((yield* logLines).join("\n"), "Request failed unexpectedly")
    })
  )

  it.effect("DELETE /api/settings ends a reply in progress, which is not stored", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* AgentManagerTest
      const [begun, gone] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const chat = (_userId: string, turn: Turn): Stream.Stream<TurnEvent> =>
        Stream.make<[TurnEvent]>({ type: "delta", text: "Once " }).pipe(
          Stream.concat(Stream.execute(Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(gone)))),
          Stream.concat(Stream.make<[TurnEvent]>({ type: "done", reply: `Once ${turn.message}`, model: "test" }))
        )
      yield* withBehavior({ chat })(
        Effect.gen(function* () {
          const asking = yield* Effect.forkDaemon(
            App.web({
              method: "POST",
              path: "/api/agent",
              as: owner,
              json: { message: "upon a time" },
              headers: { accept: "text/event-stream" }
            })
          )
          yield* Deferred.await(begun)
          const answer = yield* remove(owner.cookie, confirmed)
          assert.strictEqual(answer.status, 200, answer.text)
          yield* Deferred.succeed(gone, undefined)
          const ended = yield* Fiber.await(asking)
          if (Exit.isSuccess(ended)) {
            const events = [...ended.value.text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name)
            assert.deepStrictEqual(events, ["delta", "error"])
          } else {
            // The end of the session can close the connection before the turn fails.
            assert.include(Cause.pretty(ended.cause), "aborted")
          }
        })
      )
      for (const table of ["messages", "chat_sessions", "reservations", "unit_days", "agents", "instances"])
        assert.strictEqual(
          (yield* sql`select from ${sql(table)} where ${ownedBy(sql, table, owner.user.id)}`).length,
          0
        )
    })
  )

  it.effect("DELETE /api/settings ends concurrent requests, which leave no rows", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const sql = yield* SqlClient
      for (let round = 0; round < 4; round++) {
        const owner = yield* createOwnerWithAgent()
        const calls: ReadonlyArray<Partial<App.AppCall>> = [
          { method: "POST", path: "/api/agents/provision", json: { name: "Another" } },
          { method: "POST", path: "/api/chat", json: { message: "hello" } },
          { method: "POST", path: "/api/agent", json: { message: "hello" } },
          { method: "POST", path: "/api/agent", json: { action: "create-session" } },
          { method: "POST", path: "/api/agent", json: { action: "set-credential", key: "openai", value: "v" } },
          { method: "PATCH", path, json: { name: "New" } },
          { method: "POST", path: "/api/auth/token" },
          { method: "GET", path: "/api/auth/sessions" },
          { method: "GET", path: `/api/instance/${owner.user.id}/token` },
          { method: "PUT", path: `/api/agents/${owner.agent.id}/config`, json: { temperature: 0.5 } }
        ]
        let answered = 0
        const storm = yield* Effect.forkScoped(
          Effect.forEach(
            [...calls, ...calls],
            (call) =>
              Effect.gen(function* () {
                const statuses: Array<readonly [string, number]> = []
                while (statuses.at(-1)?.[1] !== 401) {
                  const answer = yield* App.web({ method: "GET", path, ...call, as: owner })
                  statuses.push([`${call.method} ${call.path} ${answer.text}`, answer.status])
                  answered += 1
                }
                return statuses
              }),
            { concurrency: "unbounded" }
          )
        )
        // Each round interrupts the requests elsewhere.
        yield* eventually(
          Effect.sync(() => answered),
          (count) => count >= 7 * round
        )
        const answer = yield* remove(owner.cookie, confirmed)
        assert.strictEqual(answer.status, 200, answer.text)
        for (const [what, status] of (yield* Fiber.join(storm)).flat())
          // A chat whose answer was deleted in the meantime fails; all other requests end as unauthenticated.
          if (status === 500) assert.match(what, /"code":"(message_unanswered|chat_failed)"/)
          else assert.include([200, 201, 401, 402, 403, 404, 409, 429], status, what)
        for (const table of [
          "messages",
          "chat_sessions",
          "reservations",
          "agents",
          "instances",
          "credentials",
          "sessions"
        ])
          assert.strictEqual(
            (yield* sql`select from ${sql(table)} where ${ownedBy(sql, table, owner.user.id)}`).length,
            0,
            table
          )
        assert.deepStrictEqual(yield* (yield* UserRepository).find(owner.user.id), Option.none())
      }
      assert.notInclude((yield* logLines).join("\n"), "Request failed unexpectedly")
    }).pipe(Effect.scoped)
  )
})

const ownedBy = (sql: SqlClient, table: string, id: string) =>
  table === "agents" || table === "instances" ? sql`owner_id = ${id}` : sql`user_id = ${id}`
