import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { AgentRunId } from "./runs/AgentRun.ts"

const payload = Schema.Struct({ runId: AgentRunId })
type Payload = typeof payload.Type
type Encoded = typeof payload.Encoded

/** Runs what a schedule began. */
export const ScheduledTaskJob = { queue: "tasks", name: "scheduled-task", payload } as const satisfies JobKind<
  Payload,
  Encoded
>

/** Runs a skill on behalf of an agent. */
export const SkillExecutionJob = { queue: "tasks", name: "skill-execution", payload } as const satisfies JobKind<
  Payload,
  Encoded
>
