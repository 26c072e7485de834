import {
  AgentRunNotFound,
  HeartbeatNotChangeable,
  ScheduleInvalid,
  ScheduleLimitReached,
  ScheduleNotFound,
  SkillDisabled,
  SkillInputInvalid,
  SkillRunLimitReached
} from "@berth/domain/schedules/SchedulesErrors"
import { Schema } from "effect"
import { errorBody, plainErrorBody, reasonErrorBody, fieldsErrorBody } from "../http/ErrorBody.ts"

export const ScheduleNotFoundBody = plainErrorBody(ScheduleNotFound, {
  status: 404,
  error: "Schedule not found",
  message: "The agent has no schedule with this id."
})
export const ScheduleInvalidBody = reasonErrorBody(ScheduleInvalid, {
  status: 400,
  error: "Schedule invalid",
  example: "cron: must have five fields."
})
export const ScheduleLimitReachedBody = fieldsErrorBody(ScheduleLimitReached, {
  status: 429,
  error: "Schedule limit reached",
  message: ({ current, limit }) =>
    `Your plan allows ${limit} schedules per agent and this one has ${current}. Delete one or choose a larger plan.`,
  members: Schema.Struct({ current: Schema.Number, limit: Schema.Number }),
  example: { current: 10, limit: 10 }
})
export const SkillRunLimitReachedBody = fieldsErrorBody(SkillRunLimitReached, {
  status: 429,
  error: "Too many runs in progress",
  message: ({ limit }) => `${limit} runs of this agent's skills have not ended. Wait for some of them or cancel them.`,
  members: Schema.Struct({ limit: Schema.Number }),
  example: { limit: 5 }
})
export const HeartbeatNotChangeableBody = plainErrorBody(HeartbeatNotChangeable, {
  status: 400,
  error: "Heartbeat not changeable here",
  message: "Change the heartbeat by `heartbeat` and `timezone` of PUT /api/agents/:id/config."
})
export const AgentRunNotFoundBody = plainErrorBody(AgentRunNotFound, {
  status: 404,
  error: "Run not found",
  message: "The skill has no run with this id."
})
export const SkillDisabledBody = errorBody(SkillDisabled, {
  status: 400,
  error: "Skill disabled",
  message: ({ skillId }) => `The skill ${skillId} is not enabled for this agent. Enable it first.`,
  example: new SkillDisabled({ skillId: "files" }),
  read: () => new SkillDisabled({ skillId: "" })
})
export const SkillInputInvalidBody = reasonErrorBody(SkillInputInvalid, {
  status: 400,
  error: "Skill input invalid",
  example: "input.city: is required."
})
