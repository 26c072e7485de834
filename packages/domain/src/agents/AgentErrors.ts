import { Data } from "effect"

/** There is no such agent, or it is somebody else's: nobody can tell which. */
export class AgentNotFound extends Data.TaggedError("AgentNotFound")<object> {}
export class AgentNameInvalid extends Data.TaggedError("AgentNameInvalid")<{ readonly reason: string }> {}
export class SubscriptionRequired extends Data.TaggedError("SubscriptionRequired")<object> {}
export class PlanLimitReached extends Data.TaggedError("PlanLimitReached")<{
  readonly current: number
  readonly limit: number
}> {}
