import { Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import type { PlanId } from "../shared/PlanId.ts"
import { SkillInput } from "./runs/AgentRun.ts"

export const ScheduleId = idSchema("ScheduleId", "Id of a schedule, sch_…")
export type ScheduleId = typeof ScheduleId.Type

/** Policy for times at which no worker ran: one run for all, a run for each, or none. */
export const OnMissed = Schema.Literal("once", "all", "skip").annotations({ identifier: "OnMissed" })
export type OnMissed = typeof OnMissed.Type

/** `heartbeat` mirrors the cron expression of the agent's configuration. */
const ScheduleKind = Schema.Literal("prompt", "skill", "heartbeat")
type ScheduleKind = typeof ScheduleKind.Type

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

/** Maximum schedules per agent, without the heartbeat. */
export const scheduleLimits: Record<PlanId, number> = {
  free: 3,
  starter: 10,
  solo: 10,
  pro: 25,
  collective: 25,
  scale: 100,
  label: 100,
  enterprise: 500,
  network: 500
}

/** Maximum waiting and running runs of a schedule; further times are skipped. */
export const maximumRunsInProgress = 10

export const maximumPromptLength = 20_000
