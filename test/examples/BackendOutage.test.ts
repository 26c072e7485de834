import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { createOwnerWithAgent } from "../contract/OwnerFixtures.ts"
import * as App from "../support/TestApp.ts"

layer(App.shared, { excludeTestServices: true })("POST /api/agent", (it) => {
  it.effect("POST /api/agent responds 500 message_unanswered while the backend is down", () =>
    Effect.gen(function* () {
      const { calls, withBehavior } = yield* AgentManagerTest
      const owner = yield* createOwnerWithAgent()
      const outage = new BackendUnavailable({ reason: "connection refused" })
      const response = yield* App.web({
        method: "POST",
        path: "/api/agent",
        as: owner,
        json: { agentId: owner.agent.id, message: "hello" }
      }).pipe(withBehavior({ chat: () => Stream.fail(outage) }))
      assert.strictEqual(response.status, 500)
      assert.strictEqual(response.body["code"], "message_unanswered")
      assert.deepInclude((yield* calls).at(-1), { method: "chat", target: owner.user.id })
    })
  )
})
