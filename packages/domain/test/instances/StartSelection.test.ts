import { Agent, defaultAgentConfig } from "@berth/domain/agents/Agent"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { decideRestart } from "@berth/domain/instances/CrashHistory"
import { selectAgentsToStart } from "@berth/domain/instances/StartSelection"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, FastCheck } from "effect"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

const agent = (index: number, status: AgentStatus, createdAt: number) =>
  new Agent({
    id: AgentId.make(`agt_${index}`),
    ownerId: UserId.make("usr_1"),
    name: "a",
    model: "gpt-4",
    customModel: null,
    status,
    config: defaultAgentConfig,
    createdAt: DateTime.unsafeMake(createdAt),
    updatedAt: DateTime.unsafeMake(createdAt)
  })

const agents = FastCheck.array(
  FastCheck.tuple(FastCheck.constantFrom(...AgentStatus.literals), FastCheck.integer({ min: 0, max: 1000 })),
  { maxLength: 20 }
).map((rows) => rows.map(([status, createdAt], index) => agent(index, status, createdAt)))

describe("selectAgentsToStart", () => {
  it.prop(
    "selectAgentsToStart partitions the agents and never starts more than the plan allows",
    [agents, FastCheck.integer({ min: 0, max: 20 })],
    ([all, limit]) => {
      const { leave, start } = selectAgentsToStart(all, limit)
      return start.length + leave.length === all.length && start.length === Math.min(limit, all.length)
    }
  )
  it.prop(
    "selectAgentsToStart prefers working agents to failed ones, and older to newer ones",
    [agents, FastCheck.integer({ min: 0, max: 20 })],
    ([all, limit]) => {
      const { leave, start } = selectAgentsToStart(all, limit)
      const rank = (one: Agent) => (one.status === "error" ? 1e6 : 0) + one.createdAt.epochMillis
      const left = all.filter(({ id }) => leave.includes(id)).map(rank)
      return start.map(rank).every((one) => left.every((other) => one <= other))
    }
  )
})

describe("decideRestart", () => {
  it("decideRestart doubles the delay each time and gives up after the fifth crash", () => {
    const waits = [1, 2, 3, 4, 5].map(decideRestart)
    assert.deepStrictEqual(
      waits.map((next) => (next === "give-up" ? next : Duration.toMillis(next.restartAfter))),
      [250, 500, 1000, 2000, 4000]
    )
    assert.strictEqual(decideRestart(6), "give-up")
  })
})
