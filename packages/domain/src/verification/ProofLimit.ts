import { Effect } from "effect"
import type { Agent } from "../agents/Agent.ts"
import type { RateLimiter, RateLimitExceeded } from "../limits/RateLimiter.ts"

/** Counts proofs per agent and per owner, since each causes calls to a chain or signature checks. */
export const takeProof = (
  limiter: RateLimiter["Type"],
  { id, ownerId }: Pick<Agent, "id" | "ownerId">
): Effect.Effect<void, RateLimitExceeded> =>
  Effect.zipRight(limiter.take("verification-agent", id), limiter.take("verification", ownerId))
