import { InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { findHandler } from "@berth/worker/jobs/JobHandlers"
import { assert, layer } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { nothingElse } from "../support/Mailbox.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

layer(App.layer(), { excludeTestServices: true })("AgentConfiguration", (it) => {
  const put = (owner: OwnerWithAgent, json: unknown) =>
    App.web({ method: "PUT", path: `/api/agents/${owner.agent.id}/config`, as: owner, json })
  const read = (owner: OwnerWithAgent) =>
    App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/config`, as: owner })

  const workOff = (owner: OwnerWithAgent) =>
    Effect.gen(function* () {
      const done = yield* Ref.make(0)
      yield* (yield* Outbox).relay(100, (entry) =>
        JSON.stringify(entry.payload) !== JSON.stringify({ userId: owner.user.id })
          ? Effect.void
          : Effect.zipRight(
              Effect.provide(findHandler(entry.queue)({ ...entry, attempt: 1, isLastAttempt: false }), nothingElse),
              Ref.update(done, (before) => before + 1)
            )
      )
      return yield* done
    })

  it.effect("AgentConfiguration keeps concurrent changes of different members", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const changes = {
        temperature: 0.5,
        systemPrompt: "Be brief.",
        maxTokens: 100,
        timezone: "Europe/Paris",
        model: "gpt-4"
      }
      const members = Object.entries(changes)
      const answers = yield* Effect.forEach(members, ([member, value]) => put(owner, { [member]: value }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        members.map(() => 200)
      )
      assert.deepInclude((yield* read(owner)).body["config"], changes)
    })
  )

  it.effect("AgentConfiguration reconfigures the instance by a job when the backend is unreachable", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { calls, withBehavior } = yield* AgentManagerTest
      const hangs = new InstanceUnavailable({ reason: "it hangs" })
      const answer = yield* withBehavior({ reconfigure: () => hangs })(put(owner, { temperature: 0.25 }))
      assert.deepStrictEqual([answer.status, answer.body["code"]], [500, "configuration_not_applied"])
      assert.deepInclude((yield* read(owner)).body["config"], { temperature: 0.25 })

      const before = (yield* calls).length
      assert.strictEqual(yield* workOff(owner), 1)
      assert.deepStrictEqual((yield* calls).slice(before), [{ method: "reconfigure", target: owner.user.id }])
      assert.strictEqual(yield* workOff(owner), 0)
    })
  )

  it.effect("DELETE of an agent is 200 when its instance is unavailable, and a job reconfigures the instance", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* AgentManagerTest
      const gone = yield* withBehavior({ reconfigure: () => new InstanceUnavailable({ reason: "it hangs" }) })(
        App.web({ method: "DELETE", path: `/api/agents/provision/${owner.agent.id}`, as: owner })
      )
      assert.deepStrictEqual([gone.status, gone.body], [200, { success: true }])
      assert.strictEqual((yield* read(owner)).status, 404)
      assert.strictEqual(yield* workOff(owner), 1)
    })
  )
})
