import { Schema } from "effect"
import { defineJob } from "../jobs/JobKind.ts"
import { AgentRunId } from "./runs/AgentRun.ts"

const defineRunJob = (name: string) =>
  defineJob({ queue: "tasks", name, payload: Schema.Struct({ runId: AgentRunId }), lane: "runs" })

/** Executes the run of a schedule. */
export const ScheduledTaskJob = defineRunJob("scheduled-task")

/** Executes a skill for an agent. */
export const SkillExecutionJob = defineRunJob("skill-execution")
