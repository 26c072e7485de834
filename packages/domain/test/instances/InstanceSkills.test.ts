import { Administrators } from "@berth/domain/accounts/Administrators"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Users } from "@berth/domain/accounts/Users"
import { Agent, defaultAgentConfig } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { DomainEvents } from "@berth/domain/events/DomainEvents"
import { ContextWindows } from "@berth/domain/ai/ContextWindows"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { StorageEntitlements } from "@berth/domain/billing/storage/StorageEntitlements"
import type { Subscription } from "@berth/domain/billing/subscriptions/Subscription"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { AgentRuntime, type RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import { InstanceSettings } from "@berth/domain/instances/InstanceSettings"
import { InstanceContents } from "@berth/domain/instances/InstanceContents"
import { InstanceReconciler } from "@berth/domain/instances/InstanceReconciler"
import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { type Skill, SkillCatalog } from "@berth/domain/skills/Skill"
import { type StoredSkill, UploadedSkillRepository } from "@berth/domain/skills/uploads/UploadedSkillRepository"
import { McpServerRepository } from "@berth/domain/skills/mcp/McpServerRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Option, Redacted, Ref, Stream } from "effect"
import { AgentId } from "@berth/domain/shared/AgentId"
import { sampleUser } from "../SampleUser.ts"

const start = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const agent = new Agent({
  id: AgentId.make("agt_1"),
  ownerId: sampleUser.id,
  name: "Ada",
  model: "gpt-4",
  customModel: null,
  status: "running",
  config: { ...defaultAgentConfig, skills: ["files", "retired", "time", "word-count"] },
  createdAt: start,
  updatedAt: start
})
const skill = (id: string, basic: boolean): Skill => ({
  id,
  name: id,
  description: id,
  instructions: id,
  tools: [],
  basic
})

const uploaded: StoredSkill = {
  ...skill("word-count", true),
  code: { tools: [], files: { "SKILL.md": "" } },
  size: 0,
  createdAt: start,
  updatedAt: start
}

/** The configured skills of an agent with files, retired, time and an uploaded one, by the owner's subscription. */
const configuredSkills = (subscription: Option.Option<Subscription>, isAdmin = false) =>
  Effect.gen(function* () {
    const agentsRef = yield* Ref.make<ReadonlyArray<RuntimeAgent>>([])
    const ports = Layer.mergeAll(
      Layer.mock(AgentRepository, { listOwned: () => Effect.succeed([agent]) }),
      Layer.mock(UserRepository, {
        find: () => Effect.succeedSome(sampleUser),
        findSuspended: () => Effect.succeed(new Set())
      }),
      Layer.mock(SubscriptionRepository, { find: () => Effect.succeed(subscription) }),
      Layer.mock(StorageEntitlements, { find: () => Effect.succeed("included") }),
      Layer.mock(InstanceRepository, {
        ensureRuntimeToken: () => Effect.succeed(Redacted.make("token")),
        listDesired: () => Effect.succeed([]),
        serialized: (_userId, effect) => effect
      }),
      Layer.mock(InstanceDriver, {
        exits: Stream.never,
        removeOtherAgents: () => Effect.void,
        inspect: (of) => Effect.succeedSome({ owner: of, endpoint: "", startedAt: start, runtimeVersion: "1" })
      }),
      Layer.mock(UploadedSkillRepository, { read: () => Effect.succeed([uploaded]) }),
      Layer.mock(McpServerRepository, { listAgents: () => Effect.succeed(new Set([agent.id])) }),
      Layer.mock(AgentRuntime, {
        chat: () => Effect.never,
        configure: (_access, agents) => Ref.set(agentsRef, agents)
      }),
      Layer.mock(DomainEvents, {}),
      Layer.succeed(Transaction, { run: (effect) => effect }),
      Layer.succeed(Administrators, { includes: () => isAdmin }),
      Layer.succeed(InstanceSettings, { backendUrl: "http://127.0.0.1", idleAfter: Option.none() }),
      Layer.succeed(AgentSettings, { models: [], legacyModels: new Map() }),
      Layer.succeed(ContextWindows, { find: () => Effect.succeed(1_000) }),
      Layer.succeed(SkillCatalog, [skill("time", true), skill("files", false)])
    )
    yield* Effect.flatMap(InstanceReconciler, (reconciler) => reconciler.reconfigure(sampleUser.id)).pipe(
      Effect.provide(
        InstanceReconciler.Default.pipe(
          Layer.provide(InstanceContents.Default),
          Layer.provide(Layer.mergeAll(Users.Default, AgentLifecycle.Default, Allowances.Default)),
          Layer.provide(ports)
        )
      )
    )
    const agents = yield* Ref.get(agentsRef)
    assert.isTrue(agents.every(({ hasMcpServers }) => hasMcpServers))
    const configured = agents.flatMap(({ skills }) => skills)
    assert.deepStrictEqual(configured.find(({ id }) => id === uploaded.id)?.code, uploaded.code)
    return configured.map(({ id }) => id)
  })

const on = (plan: Subscription["plan"], status: Subscription["status"] = "active") =>
  Option.some({ userId: sampleUser.id, plan, status })

describe("InstanceReconciler.reconfigure", () => {
  it.effect(
    "InstanceReconciler.reconfigure configures skills that are selected, known and part of the plan, and uploaded ones with their files",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* configuredSkills(on("pro")), ["time", "files", "word-count"])
        assert.deepStrictEqual(yield* configuredSkills(on("starter")), ["time", "word-count"])
        assert.deepStrictEqual(yield* configuredSkills(on("pro", "past_due")), ["time", "word-count"])
        assert.deepStrictEqual(yield* configuredSkills(Option.none()), ["time", "word-count"])
        assert.deepStrictEqual(yield* configuredSkills(Option.none(), true), ["time", "files", "word-count"])
      })
  )
})
