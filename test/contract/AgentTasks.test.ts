import { runtimeModelPath } from "@berth/api/runtime/RuntimeContract"
import { Agents } from "@berth/domain/agents/Agents"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { type AgentTask, AgentTasks, type TaskFunding } from "@berth/domain/gateway/tasks/AgentTasks"
import * as AgentTasksLive from "@berth/domain/gateway/tasks/AgentTaskRunner"
import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import type { PluginResult } from "@berth/domain/gateway/plugins/PluginRun"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import * as ManagedAgentInstances from "@berth/domain/instances/ManagedAgentInstances"
import { TaskTurns } from "@berth/domain/interaction/turns/TaskTurns"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import * as QuotedOwnerModels from "@berth/domain/gateway/plugins/QuotedOwnerModels"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { SkillCatalog } from "@berth/domain/skills/Skill"
import * as GatewayServices from "@berth/domain/gateway/GatewayServices"
import { assert, layer } from "@effect/vitest"
import { Array, Chunk, Deferred, Effect, Fiber, Layer, Option, Redacted, Ref, Stream } from "effect"
import { skillCatalog, insertAgent, uniqueName } from "../support/Samples.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Units } from "@berth/domain/shared/Money"

const Live = AgentTasksLive.layer.pipe(
  Layer.provide(Layer.merge(TaskTurns.Default, QuotedOwnerModels.layer)),
  Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
  Layer.provide(Layer.provide(Agents.Default, ManagedAgentInstances.layer)),
  Layer.provide(GatewayServices.localAnswers),
  Layer.provide(Layer.succeed(AgentSettings, { models: ["claude-opus-4-6"], legacyModels: new Map() })),
  Layer.provide(Layer.succeed(SkillCatalog, skillCatalog)),
  Layer.provideMerge(App.shared)
)

const user = (content: string): ChatMessage => ({ role: "user", content })

const run = (task: Omit<AgentTask, "messages"> & { readonly messages?: ReadonlyArray<ChatMessage> }) =>
  Effect.flatMap(AgentTasks, (tasks) =>
    Effect.map(Stream.runCollect(tasks.run({ messages: [user("hello")], ...task })), Chunk.toReadonlyArray)
  )
const by = (owner: App.SignedIn, task: Omit<Partial<AgentTask>, "caller"> = {}) =>
  run({ caller: Option.some(owner.user), ...task })

const usedBy = (owner: App.SignedIn) =>
  Effect.flatMap(UnitLedger, ({ findUsage }) => Effect.map(findUsage(owner.user), ({ used }) => used))

const inWork = (owner: App.SignedIn) =>
  Effect.map(sql`select id from turns where user_id = ${owner.user.id}`, (rows) => rows.length)

const says = (...texts: ReadonlyArray<string>): Stream.Stream<TurnEvent> =>
  Stream.fromIterable([
    ...texts.map((text): TurnEvent => ({ type: "delta", text })),
    { type: "done", reply: texts.join(""), model: "m", provider: "p" }
  ])

const during = <A, E, R>(
  chat: (owner: string, turn: Turn) => Stream.Stream<TurnEvent, BackendUnavailable | InstanceUnavailable | TurnFailed>,
  effect: Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const turns: Array<Turn & { readonly owner: string }> = []
    const manager = yield* AgentManagerTest
    const result = yield* effect.pipe(
      manager.withBehavior({
        chat: (owner, turn) => {
          turns.push({ ...turn, owner })
          return chat(owner, turn)
        }
      })
    )
    return { result, turns }
  })

layer(Live, { excludeTestServices: true })("A task", (it) => {
  it.effect("A task runs on the caller's agent with its history and memories, and nothing is stored", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { addNote } = yield* Memories
      yield* addNote({ agentId: owner.agent.id, userId: owner.user.id }, "The harbor is in Hamburg.")
      const messages: ReadonlyArray<ChatMessage> = [
        { role: "system", content: "Be brief." },
        user("hi"),
        { role: "assistant", content: "hello" },
        user("Where is the harbor?")
      ]
      const { result, turns } = yield* during(() => says("In ", "", "Hamburg."), by(owner, { messages }))
      assert.deepStrictEqual(result, [
        { type: "delta", text: "In " },
        { type: "delta", text: "Hamburg." },
        {
          type: "done",
          message: "In Hamburg.",
          tokens: null,
          costUsd: 0,
          ownKey: false,
          answeredBy: { model: "m", provider: "p" }
        }
      ])
      const [turn] = turns
      assert.deepInclude(turn, {
        owner: owner.user.id,
        agentId: owner.agent.id,
        summary: null,
        history: [
          { seq: 1, role: "user", content: "hi" },
          { seq: 2, role: "assistant", content: "hello" }
        ],
        message: "Context of the task:\nBe brief.\n\nThe task:\nWhere is the harbor?"
      })
      assert.include(turn?.memories.join("\n"), "The harbor is in Hamburg.")
      assert.notStrictEqual(turn?.sessionId, owner.conversation)
      assert.deepStrictEqual(yield* sql`select id from messages where user_id = ${owner.user.id}`, [])
      assert.lengthOf(yield* sql`select id from chat_sessions where user_id = ${owner.user.id}`, 1)
      assert.strictEqual(yield* usedBy(owner), 0)
      assert.strictEqual(yield* inWork(owner), 0)
    })
  )

  it.effect("A task runs on the named agent, else on the oldest running one, and concurrently with other tasks", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const [older, younger] = [yield* insertAgent(owner.user.id), yield* insertAgent(owner.user.id)]
      const all = yield* Deferred.make<void>()
      let requested = 0
      const { turns } = yield* during(
        () =>
          Stream.concat(
            Stream.execute(
              Effect.suspend(() =>
                ++requested === 3 ? Deferred.succeed(all, undefined) : Effect.asVoid(Deferred.await(all))
              )
            ),
            says("ok")
          ),
        Effect.all([by(owner), by(owner), by(owner, { agentId: younger.id })], { concurrency: "unbounded" })
      )
      assert.sameMembers(
        turns.map(({ agentId }) => agentId),
        [older.id, older.id, younger.id]
      )
      assert.strictEqual(new Set(turns.map(({ sessionId }) => sessionId)).size, 3)
      assert.strictEqual(new Set(turns.map(({ messageId }) => messageId)).size, 3)
    })
  )

  it.effect("A task for another owner's agent fails with AgentNotFound, whatever else is invalid", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const { turns } = yield* during(
        () => says("no"),
        Effect.gen(function* () {
          for (const agentId of [stranger.agent.id, AgentId.make("agt_none"), AgentId.make("\u0000")])
            for (const messages of [[user("hello")], []]) {
              assert.strictEqual((yield* Effect.flip(by(owner, { agentId, messages })))._tag, "AgentNotFound")
              const nobodys = run({ caller: Option.none(), agentId, messages })
              assert.strictEqual((yield* Effect.flip(nobodys))._tag, "AgentNotFound")
            }
        })
      )
      assert.deepStrictEqual(turns, [])
    })
  )

  it.effect("A task for a stopped agent, or without messages, is invalid", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const down = yield* Effect.flip(by(owner, { agentId: owner.agent.id }))
      assert.deepInclude(down, { _tag: "PluginInputInvalid", field: "agentId" })
      const empty = yield* Effect.flip(by(owner, { messages: [] }))
      assert.deepInclude(empty, { _tag: "PluginInputInvalid", field: "messages" })
    })
  )

  it.effect("A task of a caller without a running agent, or of an anonymous one, runs on the orchestrator", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const answeredBy = { model: "openai/gpt-4", provider: "openai" }
      const answer: ReadonlyArray<ModelDelta | PluginResult> = [
        { type: "delta", text: "Good " },
        { type: "delta", text: "day." },
        { type: "done", message: "Good day.", tokens: null, costUsd: 0.000066, ownKey: false, answeredBy }
      ]
      assert.deepStrictEqual(yield* by(owner), answer)
      assert.deepStrictEqual(yield* run({ caller: Option.none() }), answer)
      assert.strictEqual(yield* usedBy(owner), 0)
      const models = yield* ModelProvidersTest
      const own = models.withBehavior({ keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) })
      assert.deepInclude(Array.last(yield* own(by(owner))).pipe(Option.getOrThrow), { type: "done", ownKey: true })
      const ofNobody = yield* own(run({ caller: Option.none() }))
      assert.deepInclude(Option.getOrThrow(Array.last(ofNobody)), { type: "done", ownKey: false })
    })
  )

  it.effect(
    "A task fails with a sentence when the runtime dies, the backend is unreachable, the model fails, or the reply is empty",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const begun = Stream.make<[TurnEvent]>({ type: "delta", text: "half " })
        for (const [chat, reason] of [
          [Stream.concat(begun, Stream.fail(new InstanceUnavailable({ reason: "it was killed" }))), "it was killed"],
          [Stream.fail(new BackendUnavailable({ reason: "it cannot be reached" })), "it cannot be reached"],
          [Stream.concat(begun, Stream.fail(new TurnFailed({ reason: "the model is away" }))), "the model is away"],
          [begun, "stopped in the middle"],
          [says(" "), "nothing to say"]
        ] as const) {
          const { result } = yield* during(() => chat, Effect.flip(by(owner)))
          assert.strictEqual(result._tag, "PluginFailed")
          assert.include("reason" in result ? result.reason : "", reason)
          assert.strictEqual(yield* inWork(owner), 0)
        }
        assert.strictEqual(yield* usedBy(owner), 0)
      })
  )

  it.effect("A task ends in the instance when its reader disconnects", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const [first, left] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { run: start } = yield* AgentTasks
      yield* during(
        () =>
          Stream.concat(Stream.make<[TurnEvent]>({ type: "delta", text: "first" }), Stream.never).pipe(
            Stream.ensuring(Deferred.succeed(left, undefined))
          ),
        Effect.gen(function* () {
          const reader = yield* start({ caller: Option.some(owner.user), messages: [user("hello")] }).pipe(
            Stream.runForEach(() => Deferred.succeed(first, undefined)),
            Effect.forkDaemon
          )
          yield* Deferred.await(first)
          assert.strictEqual(yield* inWork(owner), 1)
          yield* Fiber.interrupt(reader)
          yield* Deferred.await(left)
        })
      )
      assert.strictEqual(yield* inWork(owner), 0)
    })
  )

  it.effect("A task is answered by own keys where they run the agent's model, or the orchestrator's", () =>
    Effect.gen(function* () {
      const { usesOwnKeys } = yield* AgentTasks
      const models = yield* ModelProvidersTest
      const withKey = (vendor: "openai" | "anthropic") =>
        models.withBehavior({ keys: () => Effect.succeed({ [vendor]: Redacted.make("sk-own") }) })
      const owner = yield* createOwnerWithAgent()
      const caller = Option.some(owner.user)
      assert.isTrue(yield* withKey("anthropic")(usesOwnKeys({ caller })))
      assert.isFalse(yield* withKey("openai")(usesOwnKeys({ caller, agentId: owner.agent.id })))
      assert.isFalse(yield* usesOwnKeys({ caller }))
      const agentless = Option.some((yield* createOwnerWithAgent("pro", "stopped")).user)
      assert.isTrue(yield* withKey("openai")(usesOwnKeys({ caller: agentless })))
      assert.isFalse(yield* usesOwnKeys({ caller: agentless }))
      assert.isFalse(yield* withKey("openai")(usesOwnKeys({ caller: Option.none() })))
    })
  )

  it.effect(
    "A task extends its reservation by its model calls, within its limit, and reports their cost when it is left",
    () =>
      Effect.gen(function* () {
        const { backend } = yield* App.TestApp
        const ledger = yield* UnitLedger
        const owner = yield* createOwnerWithAgent()
        const token = Redacted.value(yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id))
        const callModel = (turn: Turn) =>
          backend({
            method: "POST",
            path: runtimeModelPath,
            headers: { authorization: `Bearer ${token}` },
            json: {
              agentId: turn.agentId,
              messageId: turn.messageId,
              model: "anthropic/claude-opus-4-6",
              messages: [{ role: "user", content: "x".repeat(4_000) }],
              tools: [],
              temperature: null,
              maxTokens: 2_000
            }
          })
        const spend = (payment: Pick<TaskFunding, "reservation" | "unitLimit">) =>
          Effect.gen(function* () {
            const spentUsd = yield* Ref.make(0)
            const status = yield* Deferred.make<number>()
            const { run: start } = yield* AgentTasks
            yield* during(
              (_, turn) =>
                Stream.concat(
                  Stream.execute(Effect.flatMap(callModel(turn), (answer) => Deferred.succeed(status, answer.status))),
                  Stream.never
                ),
              Effect.gen(function* () {
                const funding = { ...payment, ownKeysOnly: false, spentUsd }
                const reader = yield* start({
                  caller: Option.some(owner.user),
                  messages: [user("hello")],
                  funding
                }).pipe(Stream.runDrain, Effect.forkDaemon)
                yield* Deferred.await(status)
                yield* Fiber.interrupt(reader)
              })
            )
            return { status: yield* Deferred.await(status), spentUsd: yield* Ref.get(spentUsd) }
          })
        const reservation = yield* ledger.reserve(owner.user, Units(1), yield* uniqueName("task"))
        // The fake model reports 7 tokens of prompt and 3 of output, at 3 and 15 USD per million.
        assert.deepStrictEqual(yield* spend({ reservation }), { status: 200, spentUsd: 0.000066 })
        // (1,000 x 3 + 2,000 x 15) micros with margin.
        assert.isAtLeast(yield* usedBy(owner), 5)
        const unpaid = { reservation: Option.none() }
        assert.deepStrictEqual(yield* spend({ ...unpaid, unitLimit: Units(0) }), { status: 402, spentUsd: 0 })
        assert.strictEqual((yield* spend({ ...unpaid, unitLimit: Units(5) })).status, 200)
      })
  )

  it.effect("A task is by the caller's own keys when the backend saw only their calls", () =>
    Effect.gen(function* () {
      const { backend } = yield* App.TestApp
      const models = yield* ModelProvidersTest
      const calls = (
        owner: OwnerWithAgent,
        ...expectedCalls: ReadonlyArray<readonly [model: string, turnId?: string]>
      ) =>
        Effect.gen(function* () {
          const token = Redacted.value(yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id))
          const statuses: Array<number> = []
          const runtime = (turn: Turn) =>
            Effect.forEach(expectedCalls, ([model, turnId]) =>
              backend({
                method: "POST",
                path: runtimeModelPath,
                headers: { authorization: `Bearer ${token}` },
                json: {
                  agentId: turn.agentId,
                  messageId: turnId ?? turn.messageId,
                  model,
                  messages: [{ role: "user", content: turn.message }],
                  tools: [],
                  temperature: null,
                  maxTokens: null
                }
              }).pipe(Effect.map(({ status }) => statuses.push(status)))
            )
          const { result } = yield* during(
            (_, turn) => Stream.concat(Stream.execute(runtime(turn)), says("ok")),
            by(owner)
          )
          const end = Option.getOrThrow(Array.last(result))
          return { statuses, isFree: end.type === "done" && end.ownKey }
        })
      const owner = yield* createOwnerWithAgent()
      const [own, platform] = ["openai/gpt-4", "anthropic/claude-opus-4-6"]
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* calls(owner, [own], [own]), { statuses: [200, 200], isFree: true })
        assert.deepStrictEqual(yield* calls(owner), { statuses: [], isFree: false })
        assert.deepStrictEqual(yield* calls(owner, [platform]), { statuses: [200], isFree: false })
        assert.deepStrictEqual(yield* calls(owner, [own], [platform]), { statuses: [200, 200], isFree: false })
        assert.deepStrictEqual(yield* calls(owner, [own], [platform, "tsk_of_another"]), {
          statuses: [200, 404],
          isFree: true
        })
        assert.deepStrictEqual(yield* calls(owner, [own, "tsk_of_another"]), { statuses: [404], isFree: false })
      }).pipe(models.withBehavior({ keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) }))
    })
  )
})
