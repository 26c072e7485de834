import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { Agents } from "@berth/domain/agents/Agents"
import { OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import * as AgentTasksLive from "@berth/domain/gateway/tasks/AgentTaskRunner"
import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import type { PluginResult } from "@berth/domain/gateway/plugins/PluginRun"
import * as ManagedAgentInstances from "@berth/domain/instances/ManagedAgentInstances"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { SkillCatalog } from "@berth/domain/skills/Skill"
import * as OpenRouterModelCatalog from "@berth/infra/ai/catalog/OpenRouterModelCatalog"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import * as BackendAgentManager from "@berth/infra/backend/BackendAgentManager"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import * as GatewayServices from "@berth/domain/gateway/GatewayServices"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import { Chunk, Effect, Fiber, Layer, Option, Stream } from "effect"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { UnitLedger, UnitPolicy } from "@berth/domain/billing/units/UnitLedger"
import { TaskTurns } from "@berth/domain/interaction/turns/TaskTurns"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import * as QuotedOwnerModels from "@berth/domain/gateway/plugins/QuotedOwnerModels"
import { eventually } from "../support/Eventually.ts"
import { testStorage } from "../support/TestStorage.ts"
import { readRuntimePid } from "./RuntimeProcesses.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { model, openRouterUrl, SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient } from "./WebClient.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const waitLimit = "60 seconds"

/** Tasks of a separate web process that uses the backend API. */
const tasks = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { berth, databaseUrl, internalApiKey } = yield* SharedBerth
    const manager = BackendAgentManager.layer({ backendUrl: berth.backendUrl, internalApiKey })
    const sandbox = OpenRouterModelCatalog.layer({ openRouterUrl }).pipe(
      Layer.provideMerge(ConfiguredModelProviders.layer({ sandbox: true })),
      Layer.merge(OwnerKeys.none)
    )
    return AgentTasksLive.layer.pipe(
      Layer.provide(Layer.mergeAll(TaskTurns.Default, QuotedOwnerModels.layer, UnitLedger.Default)),
      Layer.provide(Layer.succeed(UnitPolicy, { confirmedEmailRequired: false })),
      Layer.provide(OwnerKeys.none),
      Layer.provide(Layer.succeed(Administrators, { includes: () => false })),
      Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
      Layer.provide(Layer.provide(Agents.Default, ManagedAgentInstances.layer)),
      Layer.provide(Layer.mergeAll(Memories.Default, Allowances.Default, manager)),
      Layer.provide(Layer.provide(GatewayServices.localAnswers, sandbox)),
      Layer.provide(Layer.succeed(AgentSettings, { models: ["claude-opus-4-6"], legacyModels: new Map() })),
      Layer.provide(Layer.succeed(SkillCatalog, [])),
      Layer.provideMerge(testStorage(databaseUrl, { maxConnections: 4, applicationName: "test-tasks" })),
      Layer.orDie
    )
  })
)

const ownerWithRunningAgent = (model: string) =>
  Effect.gen(function* () {
    const { berth } = yield* SharedBerth
    const person = yield* signUpClient(berth.webUrl)
    yield* Records.insertSubscription(person.userId, "starter")
    const { id } = yield* person.provision("Ada", model)
    yield* person.untilRunning(id)
    const user = yield* Effect.flatten((yield* UserRepository).find(person.userId))
    return { ...person, user }
  })
type Settled = Effect.Effect.Success<ReturnType<typeof ownerWithRunningAgent>>

const task = (caller: Option.Option<Settled["user"]>, content: string) =>
  Stream.unwrap(Effect.map(AgentTasks, ({ run }) => run({ caller, messages: [{ role: "user", content }] })))

const answerOf = (caller: Option.Option<Settled["user"]>, content: string) =>
  Effect.map(Stream.runCollect(task(caller, content)), (events) => {
    const all = Chunk.toReadonlyArray(events)
    const end = all.at(-1)
    const pieces = all.flatMap((event) => (event.type === "delta" ? [event.text] : []))
    assert.containSubset(end, { type: "done", message: pieces.join(""), ownKey: false })
    return pieces.join("")
  })

/** A task whose answer stops after its first half. */
const beginTask = (person: Settled) =>
  Effect.gen(function* () {
    const { openai: upstream } = yield* SharedBerth
    upstream.respondWith({ type: "break-off", pieces: ["Half ", "an "], by: "hanging" })
    const events: Array<ModelDelta | PluginResult> = []
    const reading = yield* Stream.runForEach(task(Option.some(person.user), "Something long"), (event) =>
      Effect.sync(() => events.push(event))
    ).pipe(Effect.either, Effect.forkDaemon)
    yield* eventually(
      Effect.sync(() => events.length),
      (count) => count >= 2,
      { description: "the first half of an answer", timeout: waitLimit }
    )
    return reading
  })

const pidOf = (userId: UserId) =>
  Effect.flatMap(SharedBerth, ({ berth }) =>
    Effect.map(readRuntimePid(berth.place.dataDirectory, userId), (pid) => Option.getOrThrow(pid))
  )

/** Tasks by the agent of the gateway. */
export const agentTasks: SharedBerthPart = (outer) =>
  outer.layer(tasks, { timeout: "120 seconds" })("the gateway's agent", (it) => {
    it.effect(
      "The gateway's agent works in its owner's instance with its skills, stores nothing, and charges nothing here",
      Effect.fn(function* () {
        const person = yield* ownerWithRunningAgent("sandbox/echo")
        assert.include(yield* answerOf(Option.some(person.user), "Calculate 12 * 34"), "408")
        const { body } = yield* person.raw("GET", "/api/chat")
        assert.strictEqual(memberAt(body, "count"), 0)
        assert.containSubset(yield* Records.readMessageAccounts(person.userId), { used: 0, answered: 0, open: 0 })
      })
    )

    it.effect(
      "An uploaded skill runs in its owner's instance, also after the instance has slept, and a run wakes it",
      Effect.fn(function* () {
        const person = yield* ownerWithRunningAgent("sandbox/echo")
        const { body } = yield* person.raw("GET", "/api/agents")
        const agents = memberAt(body, "agents")
        const path = `/api/agents/${textOrEmpty(memberAt(Array.isArray(agents) ? agents[0] : null, "id"))}/skills`
        const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
        const tool = { name: "count_words", description: "Counts words", parameters, script: "count.mjs" }
        const script = `export default ({ text }) => text.split(" ").length + typeof process`
        const files = [
          { path: "SKILL.md", content: "---\nname: word-count\ndescription: Counts words.\n---\n" },
          { path: "tools.json", content: JSON.stringify([tool]) },
          { path: "count.mjs", content: script }
        ]
        assert.containSubset(yield* person.raw("POST", path, { body: { files } }), { status: 201 })
        const run = Effect.gen(function* () {
          const input = { arguments: { text: "one two three" } }
          const begun = yield* person.raw("POST", `${path}/word-count/runs`, { body: { input } })
          const runPath = `${path}/word-count/runs/${textOrEmpty(memberAt(begun.body, "id"))}`
          const ended = yield* eventually(
            Effect.map(person.raw("GET", runPath), (answer) => memberAt(answer.body, "run")),
            (found) => textOrEmpty(memberAt(found, "endedAt")) !== "",
            { description: "the end of the run", timeout: waitLimit }
          )
          assert.deepInclude(ended, { status: "succeeded", result: "3undefined", reason: null, units: 1 })
        })
        yield* run
        const first = yield* pidOf(person.userId)
        yield* Effect.flatMap(
          SqlClient,
          (sql) => sql`update instances set desired = 'asleep', started_at = null where owner_id = ${person.userId}`
        )
        process.kill(first, "SIGKILL")
        yield* run
        assert.notStrictEqual(yield* pidOf(person.userId), first)
      })
    )

    it.effect(
      "The task of an anonymous caller runs in the orchestrator, with its own tools",
      Effect.fn(function* () {
        assert.include(yield* answerOf(Option.none(), "Calculate 6 * 7"), "42")
        assert.include(yield* answerOf(Option.none(), "What time is it in Asia/Tokyo?"), "(Asia/Tokyo)")
      })
    )

    it.effect(
      "The gateway's agent stops, including the model call, when its caller disconnects",
      Effect.fn(function* () {
        const { openai: upstream } = yield* SharedBerth
        const person = yield* ownerWithRunningAgent(model)
        const left = upstream.abandonedRequests()
        const reading = yield* beginTask(person)
        yield* Fiber.interrupt(reading)
        yield* eventually(
          Effect.sync(() => upstream.abandonedRequests()),
          (now) => now > left,
          { description: "the upstream call is abandoned", timeout: waitLimit }
        )
        assert.strictEqual(yield* answerOf(Option.some(person.user), "Still there?"), "You said: Still there?")
      })
    )

    it.effect(
      "A task whose runtime is killed fails, and a new runtime runs the next task",
      Effect.fn(function* () {
        const person = yield* ownerWithRunningAgent(model)
        const reading = yield* beginTask(person)
        const pid = yield* pidOf(person.userId)
        process.kill(pid, "SIGKILL")
        assert.containSubset(yield* Fiber.join(reading), { _tag: "Left", left: { _tag: "PluginFailed" } })
        yield* eventually(
          Effect.sync(() => isProcessAlive(pid)),
          (alive) => !alive,
          { description: `the end of runtime ${pid}`, timeout: waitLimit }
        )
        assert.strictEqual(yield* answerOf(Option.some(person.user), "And now?"), "You said: And now?")
        assert.notStrictEqual(yield* pidOf(person.userId), pid)
        assert.containSubset(yield* Records.readMessageAccounts(person.userId), { used: 0, open: 0 })
      })
    )
  })
