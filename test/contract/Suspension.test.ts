import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { eventually } from "../support/Eventually.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { sendBytes } from "../support/RawHttp.ts"
import { uniqueName } from "../support/Samples.ts"
import { connectSocket, readSocketRefusal } from "../support/SocketClient.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { asAdministrator, auditOf, signInAdministrator } from "./AdministratorFixtures.ts"
import { bearer, createApiKey } from "./ApiKeyFixtures.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const suspend = (id: string, verb: "suspend" | "unsuspend" = "suspend") =>
  asAdministrator({ method: "POST", path: `/api/ops/users/${id}/${verb}`, json: { reason: "abuse report 7" } })

const register = Effect.gen(function* () {
  const json = { email: `${yield* uniqueName("registered")}@example.com`, password: "correct horse battery" }
  const { body } = yield* App.web({ method: "POST", path: "/api/register", json })
  const signIn = (password = json.password) =>
    App.web({ method: "POST", path: "/api/auth/callback/credentials", json: { ...json, password } })
  return { id: String(body["id"]), signIn }
})

layer(App.shared, { excludeTestServices: true })("A suspension", (it) => {
  it.effect(
    "A suspension refuses the sign-in with the right password by 403 and with a wrong one as before, until it ends",
    () =>
      Effect.gen(function* () {
        const { id, signIn } = yield* register
        const wrongBefore = yield* signIn("wrong horse battery")
        const suspended = yield* suspend(id)
        assert.deepInclude(suspended.body, { id }, suspended.text)
        assert.isString(suspended.body["suspendedAt"])
        const answer = yield* signIn()
        assertError(answer, { status: 403, code: "account_suspended" })
        assert.notProperty(answer.headers, "set-cookie")
        assert.strictEqual(withoutTraceId(yield* signIn("wrong horse battery")), withoutTraceId(wrongBefore))
        assert.strictEqual((yield* suspend(id)).body["suspendedAt"], suspended.body["suspendedAt"])
        assert.deepInclude((yield* suspend(id, "unsuspend")).body, { id, suspendedAt: null })
        assert.strictEqual((yield* signIn()).status, 200)
      })
  )

  it.effect("A suspension is audited with its end and requests the stop of the instance", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      yield* suspend(user.id)
      const jobs = yield* sql`select name from outbox where payload->>'userId' = ${user.id}`
      assert.deepStrictEqual(jobs, [{ name: ReconfigureInstanceJob.name }])
      yield* suspend(user.id, "unsuspend")
      const entry = (action: string, before: boolean, after: boolean) => ({
        action,
        before: { suspended: before },
        after: { suspended: after },
        reason: "abuse report 7"
      })
      assert.deepStrictEqual(yield* auditOf(user.id), [
        entry("user.unsuspend", true, false),
        entry("user.suspend", false, true)
      ])
    })
  )

  it.effect(
    "The suspension of an administrator is refused, also by the administrator, and that of an unknown user",
    () =>
      Effect.gen(function* () {
        const administrator = yield* signInAdministrator
        assertError(yield* suspend(administrator.user.id), { status: 409, code: "administrator_protected" })
        assert.strictEqual((yield* App.web({ method: "GET", path: "/api/settings", as: administrator })).status, 200)
        assertError(yield* suspend("usr_0"), { status: 404, code: "user_not_found" })
        assertError(yield* suspend("usr_0", "unsuspend"), { status: 404, code: "user_not_found" })
      })
  )
})

const holdAnswers = (): Stream.Stream<TurnEvent> =>
  Stream.concat(Stream.make<[TurnEvent]>({ type: "delta", text: "Once " }), Stream.never)

const presentCredentials = Effect.gen(function* () {
  const { appUrl } = yield* App.TestApp
  const owner = yield* createOwnerWithAgent()
  const { id } = owner.user
  const instances = yield* InstanceRepository
  const apiKey = yield* createApiKey(owner, "agents", "chat")
  const jwt = (yield* App.web({ method: "POST", path: "/api/auth/token", as: owner })).body["token"]
  const social = Redacted.value(yield* (yield* SocialSessions).open(id))
  const runtime = Redacted.value(yield* instances.ensureRuntimeToken(id))
  const gateway = Redacted.value(yield* instances.ensureGatewayToken(id))
  const socket = { host: `127.0.0.1:${appUrl.port}`, path: `/agents/${owner.agent.id}/ws` }
  return {
    owner,
    sockets: {
      cookie: { ...socket, headers: { cookie: owner.cookie } },
      apiKey: { ...socket, headers: apiKey.headers },
      token: { ...socket, headers: bearer(gateway) }
    },
    statuses: Effect.gen(function* () {
      const answers = yield* Effect.all([
        App.web({ method: "GET", path: "/api/settings", as: owner }),
        App.web({ method: "GET", path: "/api/settings", headers: bearer(social) }),
        App.web({ method: "GET", path: "/api/billing", headers: bearer(String(jwt)) }),
        App.web({ method: "POST", path: "/api/v1/gateway", as: owner, json: {} }),
        App.web({ method: "GET", path: "/api/agents", headers: apiKey.headers }),
        App.backend({ method: "POST", path: "/internal/runtime/model", json: {}, headers: bearer(runtime) })
      ])
      return answers.map(({ status }) => status)
    })
  }
})

it.scopedLive(
  "A suspension refuses every credential and ends sockets and streams in every process",
  () =>
    Effect.gen(function* () {
      const shared = { databaseUrl: yield* migratedDatabase, secretsKey: randomBytes(32) }
      const build = Layer.build(Layer.fresh(App.layer(shared)))
      const [first, second] = [yield* build, yield* build]
      yield* Effect.gen(function* () {
        const { appUrl } = yield* App.TestApp
        const { calls, withBehavior } = yield* AgentManagerTest
        const { owner, sockets, statuses } = yield* presentCredentials
        assert.deepStrictEqual(yield* statuses, [200, 200, 200, 400, 200, 400])
        const open = yield* Effect.forEach(Object.values(sockets), connectSocket)
        const body = JSON.stringify({ message: "hello" })
        const head = [
          "POST /api/agent HTTP/1.1",
          `host: localhost:${appUrl.port}`,
          `cookie: ${owner.cookie}`,
          "accept: text/event-stream",
          "content-type: application/json",
          `content-length: ${body.length}`
        ]
        yield* withBehavior({ chat: holdAnswers })(
          Effect.gen(function* () {
            const stream = yield* Effect.fork(
              sendBytes(Number(appUrl.port), [`${head.join("\r\n")}\r\n\r\n${body}`], 40_000)
            )
            yield* eventually(calls, (made) => made.some(({ method }) => method === "chat"))
            const suspended = yield* Effect.provide(suspend(owner.user.id), first)
            assert.strictEqual(suspended.status, 200, suspended.text)
            assert.deepStrictEqual(yield* statuses, [401, 401, 401, 401, 401, 401])
            const read = yield* Effect.timeoutFail(Fiber.join(stream), {
              duration: "20 seconds",
              onTimeout: () => new Error("the stream goes on")
            })
            assert.include(read, "Once ")
            assert.notInclude(read, "event: done")
          })
        )
        for (const { closed } of open) assert.strictEqual((yield* closed).code, 4401)
        for (const call of Object.values(sockets)) assert.strictEqual((yield* readSocketRefusal(call)).status, 401)

        yield* Effect.provide(suspend(owner.user.id, "unsuspend"), first)
        // Sessions are revoked; API keys and the tokens of the instance are not.
        assert.deepStrictEqual(yield* statuses, [401, 401, 401, 401, 200, 400])
        yield* connectSocket(sockets.token)
      }).pipe(Effect.provide(second))
    }),
  120_000
)
