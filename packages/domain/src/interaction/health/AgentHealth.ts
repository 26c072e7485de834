import { DateTime, Duration, Effect, Option } from "effect"
import type { User } from "../../shared/User.ts"
import type { Agent } from "../../agents/Agent.ts"
import { AgentConfiguration } from "../../agents/AgentConfiguration.ts"
import { Agents } from "../../agents/Agents.ts"
import { isUp } from "../../agents/AgentStatus.ts"
import type { Channel } from "../../shared/Channel.ts"
import { Instances } from "../../instances/Instances.ts"
import { RunningAgentNotFound } from "../ConversationErrors.ts"
import { ConversationRecords } from "../conversations/ConversationRecords.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Returns the time since the instance of a running agent started; zero for other agents. */
export const computeUptime = (
  status: Agent["status"],
  startedAt: Option.Option<DateTime.Utc>,
  now: DateTime.Utc
): Duration.Duration =>
  isUp(status)
    ? Option.match(startedAt, {
        onNone: () => Duration.zero,
        onSome: (since) => Duration.millis(Math.max(0, DateTime.distance(since, now)))
      })
    : Duration.zero

/** Returns the latest of the agent's creation, its instance's start and its last conversation. */
export const computeLastSeen = (
  createdAt: DateTime.Utc,
  ...signs: ReadonlyArray<Option.Option<DateTime.Utc>>
): DateTime.Utc =>
  signs.reduce(
    (last, sign) =>
      DateTime.max(
        last,
        Option.getOrElse(sign, () => last)
      ),
    createdAt
  )

export interface AgentHealthReport {
  readonly status: Agent["status"]
  readonly runtimeVersion: Option.Option<string>
  readonly uptime: Duration.Duration
  readonly model: string
  readonly channels: ReadonlyArray<Channel>
  readonly skills: ReadonlyArray<string>
  readonly lastSeen: DateTime.Utc
}

/** Reports the state of an agent, running or not. */
export class AgentHealth extends Effect.Service<AgentHealth>()("@berth/AgentHealth", {
  effect: Effect.gen(function* () {
    const agents = yield* Agents
    const instances = yield* Instances
    const configuration = yield* AgentConfiguration
    const records = yield* ConversationRecords

    /** Returns the named agent, else the owner's oldest running agent, else the oldest. */
    const resolveAgent = Effect.fn("AgentHealth.resolveAgent")(function* (
      userId: UserId,
      agentId: AgentId | undefined
    ) {
      if (agentId !== undefined) return yield* agents.find(userId, agentId)
      return yield* Effect.mapError(yield* agents.findDefault(userId), () => new RunningAgentNotFound())
    })

    const check = Effect.fn("AgentHealth.check")(function* (owner: User, agentId: AgentId | undefined) {
      const agent = yield* resolveAgent(owner.id, agentId)
      const instance = yield* Effect.option(instances.find(owner.id))
      const startedAt = Option.flatMapNullable(instance, (found) => found.startedAt)
      const now = yield* DateTime.now
      const { channels, skills } = yield* configuration.findEffective(owner, agent)
      return {
        status: agent.status,
        runtimeVersion: Option.flatMapNullable(instance, (found) => found.runtimeVersion),
        uptime: computeUptime(agent.status, startedAt, now),
        model: agent.customModel ?? agent.model,
        channels,
        skills: skills.map(({ id }) => id),
        lastSeen: computeLastSeen(agent.createdAt, startedAt, yield* records.findLastActivity(owner.id, agent.id))
      } satisfies AgentHealthReport
    })

    return { resolveAgent, check }
  })
}) {}
