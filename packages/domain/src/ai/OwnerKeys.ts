import { Context, type Effect, type Redacted } from "effect"
import type { UserId } from "../accounts/User.ts"

/** Keys of model providers that an owner has given us: used when the AI layer works for him, before the platform's own. */
export class OwnerKeys extends Context.Tag("@berth/OwnerKeys")<
  OwnerKeys,
  {
    readonly of: (userId: UserId) => Effect.Effect<{
      readonly [name in "openrouter" | "openai" | "anthropic" | "google"]?: Redacted.Redacted
    }>
  }
>() {}
