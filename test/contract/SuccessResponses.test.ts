import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { uniqueName } from "../support/Samples.ts"
import * as App from "../support/TestApp.ts"
import { ErrorRowFixtures, errorRowFixturesLayer } from "./ErrorRow.ts"
import { successRows } from "./rows/SuccessRows.ts"
import * as s from "./ResponseShapes.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const app = errorRowFixturesLayer.pipe(Layer.provideMerge(App.shared))

layer(app, { excludeTestServices: true })("A success carries exactly its documented members", (it) => {
  for (const row of successRows)
    it.effect(row.what, () =>
      Effect.gen(function* () {
        const service = yield* App.TestApp
        const answer = yield* service[row.listener ?? "web"](row.call(yield* ErrorRowFixtures))
        assert.strictEqual(answer.status, row.status ?? 200, answer.text)
        assert.match(answer.headers["content-type"] ?? "", /^application\/json/)
        s.assertShape(answer.body, row.shape)
      })
    )

  it.effect("POST /api/register, and the sign-in that follows", () =>
    Effect.gen(function* () {
      const json = { email: `${yield* uniqueName("new")}@example.com`, password: "correct horse battery" }
      const user = { id: s.prefixedId("usr"), email: s.equalTo(json.email), name: s.equalTo(json.email) }
      const registered = yield* App.web({ method: "POST", path: "/api/register", json })
      assert.strictEqual(registered.status, 200)
      s.assertShape(registered.body, user)
      const signedIn = yield* App.web({ method: "POST", path: "/api/auth/callback/credentials", json })
      assert.strictEqual(signedIn.status, 200)
      s.assertShape(signedIn.body, { user, url: s.equalTo("/dashboard") })
    })
  )

  it.effect("DELETE /api/auth/sessions/:id, and DELETE /api/settings", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* App.openSession(owner.user)
      const { body } = yield* App.web({ method: "GET", path: "/api/auth/sessions", as: owner })
      const session = {
        id: s.prefixedId("ses"),
        createdAt: s.recentTimestamp,
        lastSeenAt: s.recentTimestamp,
        current: s.booleanValue
      }
      s.assertShape(body, {
        sessions: [{ ...session, userAgent: s.orNull(s.nonEmptyText), address: s.orNull(s.nonEmptyText) }]
      })
      const other = (yield* (yield* Sessions).listByUser(owner.user.id))[0]?.id
      for (const path of [`/api/auth/sessions/${other}`, "/api/settings"]) {
        const answer = yield* App.web({ method: "DELETE", path, as: owner, json: { confirm: true } })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.match(answer.headers["content-type"] ?? "", /^application\/json/)
        s.assertShape(answer.body, { success: s.equalTo(true) })
      }
    })
  )

  it.effect("GET /api/instance/:userId once its instance has run", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const startedAt = yield* DateTime.now
      const instances = yield* InstanceRepository
      yield* instances.update(owner.user.id, { status: "active", startedAt, runtimeVersion: "3.2.1" })
      const instance = yield* App.web({ method: "GET", path: `/api/instance/${owner.user.id}`, as: owner })
      const detail = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}`, as: owner })
      assert.deepInclude(instance.body, {
        status: "active",
        startedAt: DateTime.formatIso(startedAt),
        runtimeVersion: "3.2.1"
      })
      assert.deepInclude(detail.body["agent"], {
        startedAt: DateTime.formatIso(startedAt),
        runtimeVersion: "3.2.1",
        subdomain: instance.body["subdomain"],
        url: instance.body["url"]
      })
    })
  )

  it.effect("GET /api/instance/:userId/token gives the same token every time", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const ask = App.web({ method: "GET", path: `/api/instance/${owner.user.id}/token`, as: owner })
      const answers = yield* Effect.replicateEffect(ask, 4, { concurrency: "unbounded" })
      assert.strictEqual(new Set(answers.map(({ body }) => body["token"])).size, 1)
    })
  )

  it.effect(
    "The memory of an agent is the last ten messages of the continued conversation, each cut to 100 characters",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        for (let index = 0; index < 6; index++)
          yield* App.web({
            method: "POST",
            path: "/api/agent",
            as: owner,
            json: { message: `${index}${"😀".repeat(200)}` }
          })
        // A later conversation of another origin, which POST /api/agent does not continue.
        yield* App.web({
          method: "POST",
          path: `/agents/${owner.agent.id}/a2a/message:send`,
          as: owner,
          headers: { "a2a-version": "1.0" },
          json: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } }
        })
        const { body } = yield* App.web({ method: "GET", path: "/api/agent?action=memory", as: owner })
        assert.deepStrictEqual(
          body["memory"],
          [1, 2, 3, 4, 5].flatMap((index) => [
            { role: "user", content: `${index}${"😀".repeat(99)}` },
            { role: "assistant", content: `Echo: ${index}${"😀".repeat(93)}` }
          ])
        )
      })
  )
})
