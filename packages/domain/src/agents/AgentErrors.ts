import { Data } from "effect"

/** There is no such agent, or it is somebody else's: nobody can tell which. */
export class AgentIsUnknown extends Data.TaggedError("AgentIsUnknown")<object> {}
export class AgentNameIsInvalid extends Data.TaggedError("AgentNameIsInvalid")<{ readonly reason: string }> {}
export class SubscriptionIsRequired extends Data.TaggedError("SubscriptionIsRequired")<object> {}
export class PlanLimitIsReached extends Data.TaggedError("PlanLimitIsReached")<{
  readonly current: number
  readonly limit: number
}> {}
