import { AgentId } from "@berth/domain/agents/Agent"
import { UserId } from "@berth/domain/accounts/User"
import { ModelUsage } from "@berth/domain/ai/ModelUsage"
import * as PostgresAgentRepository from "@berth/infra/postgres/AgentRepository"
import * as PostgresModelUsage from "@berth/infra/postgres/ModelUsage"
import * as PostgresUserRepository from "@berth/infra/postgres/UserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import { storedAgent, storedUser } from "../support/Samples.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

const Live = Layer.mergeAll(PostgresModelUsage.layer, PostgresAgentRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

layer(Live, { excludeTestServices: true })("ModelUsage", (it) => {
  it.effect("records calls of users, of nobody and of those who are gone, with their exact cost", () =>
    Effect.gen(function* () {
      const { record } = yield* ModelUsage
      const sql = yield* SqlClient
      const user = yield* storedUser()
      const agent = yield* storedAgent(user.id)
      const call = { provider: "sandbox", model: "sandbox/echo", promptTokens: 12, completionTokens: 3 } as const
      yield* record({ ...call, userId: user.id, agentId: agent.id, costUsd: 0.00001234, ownKey: true })
      yield* record({ ...call, userId: null, agentId: null, costUsd: 1e-7, ownKey: false })
      const gone = { userId: UserId.make("usr_gone"), agentId: AgentId.make("agt_gone") }
      yield* record({ ...call, ...gone, costUsd: 0, ownKey: false })
      const rows = yield* sql`
        select user_id, agent_id, provider, prompt_tokens, completion_tokens, cost_usd::text, own_key
        from model_usage order by id`
      const recorded = { provider: "sandbox", promptTokens: 12, completionTokens: 3 }
      assert.deepStrictEqual(rows, [
        { ...recorded, userId: user.id, agentId: agent.id, costUsd: "0.00001234", ownKey: true },
        { ...recorded, userId: null, agentId: null, costUsd: "0.0000001", ownKey: false },
        { ...recorded, userId: null, agentId: null, costUsd: "0", ownKey: false }
      ])
    })
  )
})
