import { Data } from "effect"

/** The agent does not exist or belongs to another owner; the caller cannot distinguish the two. */
export class AgentNotFound extends Data.TaggedError("AgentNotFound")<object> {}
export class AgentNameInvalid extends Data.TaggedError("AgentNameInvalid")<{ readonly reason: string }> {}
export class SubscriptionRequired extends Data.TaggedError("SubscriptionRequired")<object> {}
export class PlanLimitReached extends Data.TaggedError("PlanLimitReached")<{
  readonly current: number
  readonly limit: number
}> {}
/** The configuration is stored, but not yet applied to the running instance; a job applies it. */
export class ConfigurationNotApplied extends Data.TaggedError("ConfigurationNotApplied")<{
  readonly reason: string
}> {}
