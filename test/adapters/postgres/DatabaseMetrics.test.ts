import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as DatabaseMetrics from "@berth/infra/postgres/DatabaseMetrics"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as MigratedDatabase from "../../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../../support/Samples.ts"
import { sql } from "../../support/Sql.ts"
import * as TestSecrets from "../../support/TestSecrets.ts"

const Live = Layer.merge(PostgresAgentRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

layer(Live, { excludeTestServices: true })("DatabaseMetrics", (it) => {
  it.effect("DatabaseMetrics has no outbox lag without waiting rows", () =>
    Effect.gen(function* () {
      const text = yield* Effect.flatten(DatabaseMetrics.make)
      assert.include(text, 'berth_agents{status="running"} 0\n')
      assert.include(text, "# TYPE berth_outbox_lag_seconds gauge\nberth_outbox_lag_seconds 0\n")
    })
  )

  it.effect(
    "DatabaseMetrics counts agents and instances by status and waiting rows, and reads once in five seconds",
    () =>
      Effect.gen(function* () {
        const owner = yield* insertUser()
        yield* insertAgent(owner.id)
        yield* insertAgent(owner.id, { status: "stopped" })
        yield* sql`
        insert into instances (owner_id, subdomain, desired, status, last_used_at, created_at)
        values (${owner.id}, 'metrics', 'up', 'error', now(), now())`
        yield* sql`
        insert into outbox (id, lane, queue, name, payload, created_at, published_at) values
          ('out_1', 'a', 'tasks', 'job', '{}', now() - interval '1 hour', null),
          ('out_2', 'a', 'tasks', 'job', '{}', now(), null),
          ('out_3', 'a', 'tasks', 'job', '{}', now() - interval '1 day', now())`
        const read = yield* DatabaseMetrics.make
        const text = yield* read
        assert.include(text, 'berth_agents{status="running"} 1\n')
        assert.include(text, 'berth_agents{status="stopped"} 1\n')
        assert.include(text, 'berth_agents{status="error"} 0\n')
        assert.include(text, 'berth_instances{status="error"} 1\n')
        assert.include(text, "berth_outbox_waiting_rows 2\n")
        const lag = Number(/^berth_outbox_lag_seconds (\S+)$/m.exec(text)?.[1])
        assert.isTrue(lag > 3500 && lag < 7200, String(lag))
        assert.notInclude(text, owner.id)
        yield* insertAgent(owner.id)
        assert.strictEqual(yield* read, text)
      })
  )

  it.effect("DatabaseMetrics is empty when the database fails", () =>
    Effect.gen(function* () {
      const renamed = Effect.acquireRelease(sql`alter table outbox rename to moved`, () =>
        Effect.orDie(sql`alter table moved rename to outbox`)
      )
      const text = yield* Effect.scoped(Effect.zipRight(renamed, Effect.flatten(DatabaseMetrics.make)))
      assert.strictEqual(text, "")
    })
  )
})
