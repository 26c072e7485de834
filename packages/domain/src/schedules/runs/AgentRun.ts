import { Duration, Schema } from "effect"
import { idSchema } from "../../ids/IdGenerator.ts"
import { AgentId } from "../../shared/AgentId.ts"

export const AgentRunId = idSchema("AgentRunId", "Id of a run, run_…")
export type AgentRunId = typeof AgentRunId.Type

/**
 * `waiting` and `running` are in progress. `refused`: no units were left. `skipped`: the agent or its owner could not
 * run it, or too many earlier runs were in progress. `missed`: no worker ran at the time.
 */
export const AgentRunState = Schema.Literal(
  "waiting",
  "running",
  "succeeded",
  "failed",
  "refused",
  "skipped",
  "missed",
  "canceled"
).annotations({ identifier: "AgentRunState" })
export type AgentRunState = typeof AgentRunState.Type

/** A tool of the skill with its arguments. `tool` may be absent for a skill with one tool. */
export const SkillInput = Schema.Struct({
  tool: Schema.optionalWith(Schema.String, { exact: true }),
  arguments: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), { exact: true })
}).annotations({ identifier: "SkillInput" })
export type SkillInput = typeof SkillInput.Type

export const AgentRun = Schema.Struct({
  id: AgentRunId,
  agentId: AgentId,
  state: AgentRunState,
  /** Null for a run without a schedule. */
  dueAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  skillId: Schema.NullOr(Schema.String),
  /** Reason for a run without success. */
  reason: Schema.NullOr(Schema.String),
  /** The agent's reply, or the tool's result. */
  result: Schema.NullOr(Schema.String),
  /** Units charged; null until the end. */
  units: Schema.NullOr(Schema.Int),
  /** Number of later times of the schedule that were refused with this run. */
  repeats: Schema.Int,
  createdAt: Schema.DateTimeUtcFromSelf,
  startedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf)
})
export type AgentRun = typeof AgentRun.Type

/** Times of a schedule within this period after a refused run are refused with it. */
export const refusalPause = Duration.minutes(1)

/** Maximum waiting and running runs of an agent that its owner started. */
export const maximumSkillRunsInProgress = 64

export const agentRunRetention = "30 days"
/** Maximum ended runs kept per schedule. */
export const agentRunsKept = 1000
