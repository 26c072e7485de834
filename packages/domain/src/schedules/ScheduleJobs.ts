import { Schema } from "effect"
import { defineJob } from "../jobs/JobKind.ts"
import { AgentRunId } from "./runs/AgentRun.ts"

const defineRunJob = (name: string) =>
  defineJob({ queue: "tasks", name, payload: Schema.Struct({ runId: AgentRunId }), lane: "runs" })

export const ScheduledTaskJob = defineRunJob("scheduled-task")

export const SkillExecutionJob = defineRunJob("skill-execution")
