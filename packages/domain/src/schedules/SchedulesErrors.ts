import { Data } from "effect"

/** The schedule does not exist or belongs to another agent. */
export class ScheduleNotFound extends Data.TaggedError("ScheduleNotFound")<object> {}
/** The reason names the invalid member. */
export class ScheduleInvalid extends Data.TaggedError("ScheduleInvalid")<{ readonly reason: string }> {}
export class ScheduleLimitReached extends Data.TaggedError("ScheduleLimitReached")<{
  readonly current: number
  readonly limit: number
}> {}
/** The heartbeat is a member of the agent's configuration. */
export class HeartbeatNotChangeable extends Data.TaggedError("HeartbeatNotChangeable")<object> {}
export class SkillRunLimitReached extends Data.TaggedError("SkillRunLimitReached")<{ readonly limit: number }> {}
export class AgentRunNotFound extends Data.TaggedError("AgentRunNotFound")<object> {}
/** The agent does not have the skill, or the plan does not include it. */
export class SkillDisabled extends Data.TaggedError("SkillDisabled")<{ readonly skillId: string }> {}
export class SkillInputInvalid extends Data.TaggedError("SkillInputInvalid")<{ readonly reason: string }> {}
