import { ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresModelUsage from "@berth/infra/postgres/ai/PostgresModelUsage"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Array, DateTime, Effect, Layer } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { migratedDatabase } from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { makeTcpProxy } from "../../../support/TcpProxy.ts"
import { eventually } from "../../../support/Eventually.ts"
import { recordLogs } from "../../../support/RecordedTelemetry.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

const Live = Layer.mergeAll(PostgresModelUsage.layer, PostgresAgentRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

layer(Live, { excludeTestServices: true })("ModelUsage", (it) => {
  it.effect("ModelUsage records calls of users, of no user and of deleted ones, with their exact cost", () =>
    Effect.gen(function* () {
      const { record } = yield* ModelUsage
      const user = yield* insertUser()
      const agent = yield* insertAgent(user.id)
      const call = { provider: "sandbox", model: "sandbox/echo", promptTokens: 12, completionTokens: 3 } as const
      yield* record({ ...call, userId: user.id, agentId: agent.id, costUsd: 0.00001234, ownKey: true })
      yield* record({ ...call, userId: null, agentId: null, costUsd: 1e-7, ownKey: false })
      const gone = { userId: UserId.make("usr_gone"), agentId: AgentId.make("agt_gone") }
      yield* record({ ...call, ...gone, costUsd: 0, ownKey: false })
      const rows = yield* eventually(
        sql`
          select user_id, agent_id, provider, prompt_tokens, completion_tokens, cost_usd::text, own_key
          from model_usage where model = 'sandbox/echo' order by id`,
        ({ length }) => length === 3
      )
      const recorded = { provider: "sandbox", promptTokens: 12, completionTokens: 3 }
      assert.deepStrictEqual(rows, [
        { ...recorded, userId: user.id, agentId: agent.id, costUsd: "0.00001234", ownKey: true },
        { ...recorded, userId: null, agentId: null, costUsd: "0.0000001", ownKey: false },
        { ...recorded, userId: null, agentId: null, costUsd: "0", ownKey: false }
      ])
    })
  )

  it.effect("ModelUsage.prune deletes the records of before a moment and no later ones", () =>
    Effect.gen(function* () {
      const { prune } = yield* ModelUsage
      yield* sql`
        insert into model_usage (provider, model, prompt_tokens, completion_tokens, cost_usd, created_at)
        select 'sandbox', 'sandbox/aged', days, 0, 0, now() - make_interval(days => days) from generate_series(0, 5) as days`
      assert.strictEqual(yield* prune(DateTime.subtract(yield* DateTime.now, { days: 3, hours: -1 })), 3)
      assert.strictEqual(yield* prune(DateTime.subtract(yield* DateTime.now, { days: 3 })), 0)
      const rows = yield* sql`select prompt_tokens from model_usage where model = 'sandbox/aged' order by 1`
      assert.deepStrictEqual(rows, [{ promptTokens: 0 }, { promptTokens: 1 }, { promptTokens: 2 }])
    })
  )

  const anyCall = { userId: null, agentId: null, provider: "sandbox", ownKey: false, costUsd: 0 } as const
  const recordedOf = (model: string) =>
    sql<{ promptTokens: number }>`select prompt_tokens from model_usage where model = ${model} order by id`

  it.effect("ModelUsage writes all records before it ends", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* Effect.flatMap(ModelUsage, ({ record }) =>
        Effect.forEach(Array.range(1, 1_201), (promptTokens) =>
          record({ ...anyCall, model: "sandbox/many", promptTokens, completionTokens: 0 })
        )
      ).pipe(
        Effect.provide(Layer.fresh(PostgresModelUsage.layer).pipe(Layer.provide(Layer.succeed(SqlClient, sql)))),
        Effect.scoped
      )
      assert.deepStrictEqual(
        (yield* recordedOf("sandbox/many")).map(({ promptTokens }) => promptTokens),
        Array.range(1, 1_201)
      )
    })
  )

  it.effect("ModelUsage writes the other records when the database rejects one", () =>
    Effect.gen(function* () {
      const { record } = yield* ModelUsage
      // Negative tokens violate a check constraint.
      for (const promptTokens of [1, -1, 2])
        yield* record({ ...anyCall, model: "sandbox/odd", promptTokens, completionTokens: 0 })
      const rows = yield* eventually(recordedOf("sandbox/odd"), ({ length }) => length === 2)
      assert.deepStrictEqual(rows, [{ promptTokens: 1 }, { promptTokens: 2 }])
    })
  )

  it.scoped("ModelUsage keeps records during an outage of the database", () =>
    Effect.gen(function* () {
      const door = yield* makeTcpProxy(yield* migratedDatabase)
      const { layer: logger, lines } = recordLogs()
      const Away = PostgresModelUsage.layer.pipe(
        Layer.provideMerge(
          Layer.orDie(PostgresPool.layer({ url: door.url, maxConnections: 1, applicationName: "test" }))
        )
      )
      yield* Effect.gen(function* () {
        const { record } = yield* ModelUsage
        yield* door.rejectConnections
        yield* record({ ...anyCall, model: "sandbox/late", promptTokens: 7, completionTokens: 0 })
        yield* eventually(
          Effect.sync(() => lines),
          (written) => written.some((line) => line.includes("Rows not written, retrying"))
        )
        yield* door.acceptConnections
        const rows = yield* eventually(
          Effect.retry(recordedOf("sandbox/late"), { times: 5 }),
          ({ length }) => length > 0
        )
        assert.deepStrictEqual(rows, [{ promptTokens: 7 }])
      }).pipe(Effect.provide(Layer.provide(Layer.fresh(Away), logger)))
    })
  )
})
