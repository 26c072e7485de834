import type { DomainEvent } from "@berth/domain/events/DomainEvent"
import { DomainEvents } from "@berth/domain/events/DomainEvents"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import * as PostgresDomainEvents from "@berth/infra/postgres/events/PostgresDomainEvents"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(PostgresDomainEvents.layer, PostgresTransaction.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const stopped: DomainEvent = {
  kind: "agent.status",
  data: { agentId: AgentId.make("agt_1"), name: "A", status: "stopped", previousStatus: "active" }
}

const insertEndpoint = (user: UserId, kind: string) =>
  Effect.gen(function* () {
    const id = `whe_${user}_${kind}`
    yield* sql`
      insert into webhook_endpoints (id, user_id, url, kinds, is_ordered, secret_sealed, created_at)
      values (${id}, ${user}, 'https://receiver.example', ${[kind]}, false, 'sealed', now())`
    return id
  })

const deliveriesTo = (endpoint: string) =>
  sql`
      select webhook_deliveries.id, kind, data from webhook_deliveries join events on events.id = event_id
      where endpoint_id = ${endpoint} order by webhook_deliveries.position`

layer(Live, { excludeTestServices: true })("DomainEvents", (it) => {
  it.effect("DomainEvents.append adds a delivery per endpoint of the kind exactly when its transaction is kept", () =>
    Effect.gen(function* () {
      const { append } = yield* DomainEvents
      const { run } = yield* Transaction
      const owner = yield* insertUser()
      const [mine, otherKind] = [
        yield* insertEndpoint(owner.id, "agent.status"),
        yield* insertEndpoint(owner.id, "budget.reached")
      ]
      yield* run(Effect.zipRight(append(stopped, owner.id), Effect.fail("no"))).pipe(Effect.flip)
      assert.lengthOf(yield* deliveriesTo(mine), 0)
      yield* run(append(stopped, owner.id))
      const [delivery] = yield* deliveriesTo(mine)
      assert.deepInclude(delivery, stopped)
      assert.lengthOf(yield* deliveriesTo(otherKind), 0)
    })
  )

  it.effect(
    "DomainEvents.append delivers events of agents to their owner alone, and those of accounts to all subscribers",
    () =>
      Effect.gen(function* () {
        const { append } = yield* DomainEvents
        const [owner, other] = [yield* insertUser(), yield* insertUser()]
        const foreign = yield* insertEndpoint(other.id, "agent.status")
        const accounts = yield* insertEndpoint(other.id, "user.deleted")
        yield* append(stopped, owner.id)
        yield* append({ kind: "user.deleted", data: { userId: owner.id } }, null)
        assert.lengthOf(yield* deliveriesTo(foreign), 0)
        assert.lengthOf(yield* deliveriesTo(accounts), 1)
      })
  )

  it.effect("DomainEvents.append keeps the first event of a once key", () =>
    Effect.gen(function* () {
      const { append } = yield* DomainEvents
      const owner = yield* insertUser()
      const endpoint = yield* insertEndpoint(owner.id, "budget.reached")
      const reached = (remainingUnits: number): DomainEvent => ({
        kind: "budget.reached",
        data: { remainingUnits, requiredUnits: 5 }
      })
      yield* Effect.all([1, 2, 3].map((units) => append(reached(units), owner.id, `once ${owner.id}`)))
      const deliveries = yield* deliveriesTo(endpoint)
      assert.deepStrictEqual(
        deliveries.map(({ data }) => data),
        [reached(1).data]
      )
    })
  )

  it.effect("DomainEvents.append succeeds while one of its endpoints is removed", () =>
    Effect.gen(function* () {
      const { append } = yield* DomainEvents
      const { run } = yield* Transaction
      const owner = yield* insertUser()
      const endpoint = yield* insertEndpoint(owner.id, "agent.status")
      const [removed, commit] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const removal = yield* run(
        Effect.gen(function* () {
          yield* sql`delete from webhook_endpoints where id = ${endpoint}`
          yield* Deferred.succeed(removed, undefined)
          yield* Deferred.await(commit)
        })
      ).pipe(Effect.fork)
      yield* Deferred.await(removed)
      const appended = yield* Effect.fork(append(stopped, owner.id))
      yield* sql`select count(*) from pg_locks where not granted`.pipe(
        Effect.repeat({ until: ([row]) => Number(row?.["count"]) > 0 })
      )
      yield* Deferred.succeed(commit, undefined)
      yield* Fiber.join(removal)
      yield* Fiber.join(appended)
      assert.lengthOf(yield* deliveriesTo(endpoint), 0)
    })
  )
})
