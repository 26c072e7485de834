import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { AgentId } from "@berth/domain/shared/AgentId"
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

/** Starts a stopped agent once, as the agent manager does under the owner's lock. */
const activating = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { changeStatus } = yield* AgentRepository
    const { withBehavior } = yield* AgentManagerTest
    return yield* withBehavior({ activate: (id) => changeStatus(id, "stopped", "active") })(effect)
  })

const deploy = (json: unknown, more: Partial<App.AppCall>) =>
  App.web({ method: "POST", path: "/api/deployments", json, ...more })

layer(App.layer({ agentManagerTransport: "remote" }), { excludeTestServices: true })("A deployment", (it) => {
  it.effect("A deployment starts a stopped agent once: one of concurrent calls is 201, all have the same id", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const agentId = owner.agent.id
      const answers = yield* activating(
        Effect.replicateEffect(deploy({ agentId }, { as: owner }), 6, { concurrency: "unbounded" })
      )
      assert.strictEqual(answers.filter(({ status }) => status === 201).length, 1)
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, 5)
      const [{ body } = { body: {} }] = answers
      assert.deepInclude(body, { id: agentId.replace("agt_", "dep_"), agentId, status: "active" })
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
    })
  )

  it.effect("A deployment stores the configuration, and a refused one changes nothing", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const agentId = owner.agent.id
      const { calls } = yield* AgentManagerTest
      const before = (yield* calls).length
      const refused = yield* deploy({ agentId, config: { temperature: 3, systemPrompt: "be rude" } }, { as: owner })
      assertError(refused, { status: 400, code: "invalid_request" })
      assert.strictEqual((yield* calls).length, before)
      const config = { model: "gpt-4", systemPrompt: "be kind" }
      assert.strictEqual((yield* activating(deploy({ agentId, config }, { as: owner }))).status, 201)
      const stored = yield* App.web({ method: "GET", path: `/api/agents/${agentId}/config`, as: owner })
      assert.deepInclude(stored.body["config"], config)
    })
  )

  it.effect("A deployment with an Idempotency-Key is repeated with the first response", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const json = { agentId: owner.agent.id }
      const headers = { "idempotency-key": "deploy-once" }
      const [first, again] = yield* activating(
        Effect.all([deploy(json, { as: owner, headers }), deploy(json, { as: owner, headers })])
      )
      assert.deepStrictEqual(
        [first.status, again.status, again.text, again.headers["idempotent-replayed"]],
        [201, 201, first.text, "true"]
      )
      assertError(yield* deploy({ ...json, config: {} }, { as: owner, headers }), {
        status: 422,
        code: "idempotency_key_reused"
      })
    })
  )

  it.effect("A deployment accepts API keys with the scope agents, and reports agents that stop during the call", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const json = { agentId: owner.agent.id }
      const chat = yield* createApiKey(owner, "chat")
      assertError(yield* deploy(json, { headers: chat.headers }), { status: 403, code: "scope_missing" })
      const key = yield* createApiKey(owner, "agents")
      const deployed = yield* deploy(json, { headers: key.headers })
      assert.deepStrictEqual([deployed.status, deployed.body["status"]], [201, "stopped"])
    })
  )

  it.effect("A deployment of an agent that is deleted during the call is 404", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const { remove } = yield* AgentRepository
      const { withBehavior } = yield* AgentManagerTest
      const answer = yield* withBehavior({ activate: (id) => remove(id) })(
        deploy({ agentId: owner.agent.id }, { as: owner })
      )
      assertError(answer, { status: 404, code: "agent_not_found" })
      assert.isTrue(Option.isNone(yield* (yield* AgentRepository).find(AgentId.make(owner.agent.id))))
    })
  )
})
