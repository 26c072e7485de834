import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { AgentRunId } from "./runs/AgentRun.ts"

const payload = Schema.Struct({ runId: AgentRunId })
type Payload = typeof payload.Type
type Encoded = typeof payload.Encoded

const kindOf = <N extends string>(name: N) =>
  ({ queue: "tasks", name, payload, lane: "runs" }) as const satisfies JobKind<Payload, Encoded>

/** Executes the run of a schedule. */
export const ScheduledTaskJob = kindOf("scheduled-task")

/** Executes a skill for an agent. */
export const SkillExecutionJob = kindOf("skill-execution")
