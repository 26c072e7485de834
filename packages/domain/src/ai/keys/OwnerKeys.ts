import { Context, Effect, Layer, type Redacted } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Providers for which owners can supply keys. */
export const ownableProviders = [
  "openrouter",
  "anthropic",
  "openai",
  "google",
  "groq"
] as const satisfies ReadonlyArray<ProviderName>
export type OwnableProvider = (typeof ownableProviders)[number]

export type ModelKeys = { readonly [name in OwnableProvider]?: Redacted.Redacted }

/** Keys of owners for their own model calls. */
export class OwnerKeys extends Context.Tag("@berth/OwnerKeys")<
  OwnerKeys,
  { readonly find: (userId: UserId) => Effect.Effect<ModelKeys> }
>() {
  static readonly none = Layer.succeed(OwnerKeys, { find: () => Effect.succeed({}) })
}
