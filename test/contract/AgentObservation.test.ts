import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { TurnFailed } from "@berth/domain/instances/AgentRuntime"
import type { RuntimeLogQuery } from "@berth/domain/instances/RuntimeLog"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option, Stream } from "effect"
import { fakeLogEntry, AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"
import { sampleTurn } from "../support/SampleTurn.ts"

const gone = new BackendUnavailable({ reason: "it does not respond" })
const percent = s.matchingPattern(/^\d+\.\d\d%$/)

const observations = (options: App.TestAppOptions, name: string) =>
  layer(App.layer(options), { excludeTestServices: true })(name, (it) => {
    const withManager = <A, E, R>(
      script: Parameters<AgentManagerTest["Type"]["withBehavior"]>[0],
      effect: Effect.Effect<A, E, R>
    ) => Effect.flatMap(AgentManagerTest, ({ withBehavior }) => withBehavior(script)(effect))

    const statsOf = (owner: App.SignedIn & { readonly agent: { readonly id: string } }) =>
      App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/stats`, as: owner })
    const say = (owner: App.SignedIn & { readonly agent: { readonly id: string } }) =>
      App.web({ method: "POST", path: "/api/agent", as: owner, json: { message: "hello", agentId: owner.agent.id } })

    it.effect("GET stats returns mock figures of the stored messages when the backend is unreachable", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const startedAt = DateTime.subtract(yield* DateTime.now, { minutes: 5 })
        yield* (yield* InstanceRepository).update(owner.user.id, { status: "active", startedAt })
        yield* say(owner)
        yield* say(owner)
        yield* say(owner)
        yield* withManager({ chat: () => Stream.fail(new TurnFailed({ reason: "no model" })) }, say(owner))
        const { body, status } = yield* withManager({ stats: () => gone }, statsOf(owner))
        assert.strictEqual(status, 200)
        s.assertShape(body, {
          stats: {
            agentId: s.equalTo(owner.agent.id),
            messagesProcessed: s.equalTo(4),
            messagesPerHour: s.equalTo(4),
            averageResponseTime: s.finiteNumber,
            uptime: (value) => Number.isInteger(value) && Number(value) >= 300_000 && Number(value) < 400_000,
            successRate: s.equalTo("75.00%"),
            errorRate: s.equalTo("25.00%"),
            timestamp: s.recentTimestamp
          },
          status: s.equalTo("mock")
        })
      })
    )

    it.effect("GET stats returns no figures of an agent without messages whose instance is down", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("pro", "stopped")
        const { body } = yield* withManager({ stats: () => Effect.succeedNone }, statsOf(owner))
        const unknown = s.equalTo("N/A")
        s.assertShape(body, {
          stats: {
            agentId: s.equalTo(owner.agent.id),
            cpu: unknown,
            memory: unknown,
            memoryPercent: unknown,
            network: unknown,
            uptime: s.equalTo(0),
            uptimeFormatted: s.equalTo("0s"),
            status: s.equalTo("stopped"),
            pids: unknown,
            messagesProcessed: unknown,
            messagesPerHour: unknown,
            averageResponseTime: unknown,
            successRate: unknown,
            errorRate: unknown
          },
          status: s.equalTo("ok")
        })
        const mock = yield* withManager({ stats: () => gone }, statsOf(owner))
        assert.deepInclude(mock.body["stats"], { messagesProcessed: 0, averageResponseTime: 0, uptime: 0 })
        assert.deepInclude(mock.body["stats"], { successRate: "N/A", errorRate: "N/A" })
      })
    )

    it.effect("GET stats does not count the messages of another agent", () =>
      Effect.gen(function* () {
        const [talked, silent] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        yield* say(talked)
        const { body } = yield* statsOf(talked)
        assert.deepInclude(body["stats"], { messagesProcessed: "1", messagesPerHour: "1", successRate: "100.00%" })
        assert.deepInclude((yield* statsOf(silent)).body["stats"], { messagesProcessed: "N/A" })
        assert.isTrue(percent(Reflect.get(Object(body["stats"]), "cpu")))
      })
    )

    it.effect("GET instance stats returns N/A for an instance that is down", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const requested = App.web({ method: "GET", path: `/api/instance/${owner.user.id}/stats`, as: owner })
        const { body, status } = yield* withManager({ stats: () => Effect.succeed(Option.none()) }, requested)
        assert.strictEqual(status, 200)
        assert.deepInclude(body, { userId: owner.user.id, cpu: "N/A", memory: "N/A" })
      })
    )

    it.effect("GET instance storage returns the plan's limit without a use for an instance that is down", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("starter")
        const requested = App.web({ method: "GET", path: `/api/instance/${owner.user.id}/storage`, as: owner })
        const { body, status } = yield* withManager({ measureStorage: () => Effect.succeedNone }, requested)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(body, { usedBytes: null, limitBytes: 1024 ** 3 })
      })
    )

    it.effect("GET logs passes level, limit, owner and agent to the backend", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const requests: Array<readonly [string, RuntimeLogQuery]> = []
        const answer = yield* withManager(
          {
            logs: (userId, query) =>
              Effect.sync(() => {
                requests.push([userId, query])
                return { entries: [fakeLogEntry, { ...fakeLogEntry, id: "log_2", agentId: owner.agent.id }], total: 7 }
              })
          },
          App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/logs?limit=2&level=error`, as: owner })
        )
        assert.deepStrictEqual(requests, [[owner.user.id, { agentId: owner.agent.id, level: "error", limit: 2 }]])
        assert.deepInclude(answer.body, { total: 7, limit: 2 })
        const entry = {
          timestamp: DateTime.formatIso(fakeLogEntry.timestamp),
          level: "info",
          message: fakeLogEntry.message,
          source: "instance",
          agentId: owner.agent.id
        }
        assert.deepStrictEqual(answer.body["logs"], [
          { id: "log_test", ...entry },
          { id: "log_2", ...entry }
        ])
      })
    )
  })

observations({}, "What is told of an agent")
observations({ agentManagerTransport: "remote" }, "Observation of an agent of another process's instance")

layer(App.layer({ agentManagerTransport: "remote" }), { excludeTestServices: true })(
  "Over the private listener",
  (it) => {
    it.effect("The backend rejects an invalid limit of logs, and a request without the internal key", () =>
      Effect.gen(function* () {
        const { internalKey } = yield* App.TestApp
        const path = "/internal/instances/usr_1/logs?limit=many"
        const headers = { authorization: `Bearer ${internalKey}` }
        assert.strictEqual((yield* App.backend({ method: "GET", path, headers })).status, 400)
        assert.strictEqual((yield* App.backend({ method: "GET", path })).status, 401)
        assert.strictEqual((yield* App.backend({ method: "GET", path: "/internal/instances/usr_1/stats" })).status, 401)
      })
    )

    it.effect("The backend sends the head of a turn's response before the turn begins", () =>
      Effect.gen(function* () {
        const { backendUrl, internalKey } = yield* App.TestApp
        const { withBehavior } = yield* AgentManagerTest
        const send = Effect.tryPromise((signal) =>
          fetch(`${backendUrl}/internal/instances/usr_1/turns`, {
            method: "POST",
            headers: { authorization: `Bearer ${internalKey}`, "content-type": "application/json" },
            body: JSON.stringify(sampleTurn),
            signal
          })
        )
        const response = yield* withBehavior({ openChat: () => Effect.never })(
          // A silent stream sends a comment after 15 seconds.
          Effect.timeout(send, "12 seconds")
        )
        assert.strictEqual(response.status, 200)
        yield* Effect.promise(() => response.body?.cancel() ?? Promise.resolve())
      })
    )
  }
)
