import { Data } from "effect"

/** No schedule with this id, or another agent's. */
export class ScheduleNotFound extends Data.TaggedError("ScheduleNotFound")<object> {}
/** The reason names the member at fault. */
export class ScheduleInvalid extends Data.TaggedError("ScheduleInvalid")<{ readonly reason: string }> {}
export class ScheduleLimitReached extends Data.TaggedError("ScheduleLimitReached")<{
  readonly current: number
  readonly limit: number
}> {}
/** The heartbeat is a member of the agent's configuration. */
export class HeartbeatNotChangeable extends Data.TaggedError("HeartbeatNotChangeable")<object> {}
/** So many runs of the agent's skills have not ended. */
export class SkillRunLimitReached extends Data.TaggedError("SkillRunLimitReached")<{ readonly limit: number }> {}
export class AgentRunNotFound extends Data.TaggedError("AgentRunNotFound")<object> {}
/** The skill is not among the agent's skills, or the plan lacks it. */
export class SkillDisabled extends Data.TaggedError("SkillDisabled")<{ readonly skillId: string }> {}
export class SkillInputInvalid extends Data.TaggedError("SkillInputInvalid")<{ readonly reason: string }> {}
