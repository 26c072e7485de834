import { AgentRuns } from "@berth/domain/schedules/runs/AgentRuns"
import { ScheduledTaskJob, SkillExecutionJob } from "@berth/domain/schedules/ScheduleJobs"
import { Effect } from "effect"
import { backgroundJobHandler } from "../jobs/JobHandler.ts"

const handlerOf = (kind: typeof ScheduledTaskJob | typeof SkillExecutionJob) =>
  backgroundJobHandler(kind, ({ runId }, { isLastAttempt }) =>
    Effect.flatMap(AgentRuns, (runs) => runs.execute(runId, isLastAttempt))
  )

export const scheduledTaskHandler = handlerOf(ScheduledTaskJob)
export const skillExecutionHandler = handlerOf(SkillExecutionJob)
