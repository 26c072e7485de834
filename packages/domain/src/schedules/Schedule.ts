import { Duration, Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import type { PlanId } from "../shared/PlanId.ts"
import { SkillInput } from "./runs/AgentRun.ts"

export const ScheduleId = idSchema("ScheduleId", "Id of a schedule, sch_…")
export type ScheduleId = typeof ScheduleId.Type

/** Times at which no worker ran: one run for all of them, a run for each, or none. */
export const OnMissed = Schema.Literal("once", "all", "skip").annotations({ identifier: "OnMissed" })
export type OnMissed = typeof OnMissed.Type

/** `heartbeat` mirrors the cron expression of the agent's configuration. */
export const ScheduleKind = Schema.Literal("prompt", "skill", "heartbeat")
export type ScheduleKind = typeof ScheduleKind.Type

export const Schedule = Schema.Struct({
  id: ScheduleId,
  agentId: AgentId,
  kind: ScheduleKind,
  cron: Schema.String,
  timezone: Schema.String,
  prompt: Schema.NullOr(Schema.String),
  skillId: Schema.NullOr(Schema.String),
  input: Schema.NullOr(SkillInput),
  onMissed: OnMissed,
  enabled: Schema.Boolean,
  createdAt: Schema.DateTimeUtcFromSelf,
  updatedAt: Schema.DateTimeUtcFromSelf
})
export type Schedule = typeof Schedule.Type

export interface ScheduleAllowance {
  /** Schedules per agent, the heartbeat not counted. */
  readonly schedules: number
  /** Pause between two runs of a schedule, at least. */
  readonly shortestInterval: Duration.Duration
}

const allow = (schedules: number, shortestInterval: Duration.DurationInput): ScheduleAllowance => ({
  schedules,
  shortestInterval: Duration.decode(shortestInterval)
})

const allowances: Record<PlanId, ScheduleAllowance> = {
  free: allow(3, "1 hour"),
  starter: allow(10, "15 minutes"),
  solo: allow(10, "15 minutes"),
  pro: allow(25, "5 minutes"),
  collective: allow(25, "5 minutes"),
  scale: allow(100, "1 minute"),
  label: allow(100, "1 minute"),
  enterprise: allow(500, "10 seconds"),
  network: allow(500, "10 seconds")
}

export const findScheduleAllowance = (plan: PlanId): ScheduleAllowance => allowances[plan]

export const maximumPromptLength = 20_000
