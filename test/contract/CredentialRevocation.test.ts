import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Stream } from "effect"
import { connectSocket } from "../support/SocketClient.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey, expireApiKey, revokeApiKey } from "./ApiKeyFixtures.ts"
import { gatewayCall, withPendingAnswer } from "./GatewayPayments.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { twoProcesses } from "./TwoProcesses.ts"

/** Opens a socket and a stream whose answer never ends. */
const openConnections = (owner: OwnerWithAgent, headers: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const { appUrl } = yield* App.TestApp
    const { withBehavior } = yield* AgentManagerTest
    const started = yield* Deferred.make<void>()
    const chat = () =>
      Stream.make<[TurnEvent]>({ type: "delta", text: "Once " }).pipe(
        Stream.tap(() => Deferred.succeed(started, undefined)),
        Stream.concat(Stream.never)
      )
    const call = { method: "POST", path: "/api/agent", json: { message: "hello" } }
    const streaming = App.web({ ...call, headers: { ...headers, accept: "text/event-stream" }, isCut: true })
    const stream = yield* Effect.forkScoped(withBehavior({ chat })(streaming))
    yield* Deferred.await(started)
    const path = `/agents/${owner.agent.id}/ws`
    const socket = yield* connectSocket({ host: `127.0.0.1:${appUrl.port}`, path, headers })
    return { stream, socket }
  })

/** The cookie of a process under the name of another process, which has another port. */
const renamed = (cookie: string, from: Context.Context<App.TestApp>, to: Context.Context<App.TestApp>) =>
  cookie.replace(Context.get(from, App.TestApp).cookieName, Context.get(to, App.TestApp).cookieName)

type Revocation = (owner: OwnerWithAgent) => Effect.Effect<
  {
    readonly headers: Readonly<Record<string, string>>
    readonly revoke: Effect.Effect<unknown, unknown, Requirements>
  },
  unknown,
  Requirements
>
type Requirements = App.TestApp | SqlClient | Sessions

const revocations: ReadonlyArray<readonly [string, Revocation]> = [
  [
    "an API key that is revoked",
    (owner) =>
      Effect.map(createApiKey(owner, "chat"), (key) => ({ headers: key.headers, revoke: revokeApiKey(owner, key) }))
  ],
  [
    "an API key that expires",
    (owner) => Effect.map(createApiKey(owner, "chat"), (key) => ({ headers: key.headers, revoke: expireApiKey(key) }))
  ],
  [
    "a session that is revoked",
    (owner) =>
      Effect.succeed({
        headers: { cookie: owner.cookie },
        revoke: Effect.flatMap(Sessions, ({ revokeAll }) => revokeAll(owner.user.id))
      })
  ],
  [
    "an API key whose owner is deleted",
    (owner) =>
      Effect.map(createApiKey(owner, "chat"), (key) => ({
        headers: key.headers,
        revoke: sql`delete from users where id = ${owner.user.id}`
      }))
  ]
]

describe("A revoked credential", () => {
  it.scopedLive("A credential that ends cuts off its gateway streams, and leaves the model", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const key = yield* createApiKey(owner, "gateway")
      yield* withPendingAnswer(({ begun, left }) =>
        Effect.gen(function* () {
          const headers = { ...key.headers, accept: "text/event-stream" }
          const stream = yield* Effect.forkScoped(gatewayCall({ headers, isCut: true }))
          yield* begun
          yield* revokeApiKey(owner, key)
          const { text } = yield* Effect.timeout(Fiber.join(stream), "10 seconds")
          assert.include(text, "Half ")
          assert.notInclude(text, "event: done")
          yield* left
        })
      )
    }).pipe(Effect.provide(App.shared))
  )

  it.scopedLive("A credential that ends in one process closes its sockets and cuts off its streams in another", () =>
    Effect.gen(function* () {
      const { here, there } = yield* twoProcesses
      for (const [name, prepare] of revocations) {
        const owner = yield* Effect.provide(createOwnerWithAgent(), here)
        const { appUrl } = Context.get(there, App.TestApp)
        const { headers, revoke } = yield* Effect.provide(prepare(owner), here)
        const cookie = "cookie" in headers ? { cookie: renamed(headers["cookie"] ?? "", here, there) } : headers
        const kept = yield* Effect.provide(createApiKey(owner, "chat"), here)
        const { socket, stream } = yield* Effect.provide(openConnections(owner, cookie), there)
        const other = yield* connectSocket({
          host: `127.0.0.1:${appUrl.port}`,
          path: `/agents/${owner.agent.id}/ws`,
          headers: kept.headers
        })
        yield* Effect.provide(revoke, here)
        const [{ code }, { text }] = yield* Effect.all([socket.closed, Fiber.join(stream)], {
          concurrency: "unbounded"
        }).pipe(Effect.timeout("10 seconds"))
        assert.strictEqual(code, 4401, name)
        assert.include(text, "Once ", name)
        assert.notInclude(text, "event: done", name)
        if (name.includes("deleted")) continue
        assert.strictEqual(other.ws.readyState, other.ws.OPEN, name)
      }
    })
  )
})
