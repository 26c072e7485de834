import { Context, Effect, Layer, type Redacted } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The providers whose keys owners can bring. */
export const ownableProviders = [
  "openrouter",
  "anthropic",
  "openai",
  "google"
] as const satisfies ReadonlyArray<ProviderName>
export type OwnableProvider = (typeof ownableProviders)[number]

/** An owner's own keys, by provider. */
export type ModelKeys = { readonly [name in OwnableProvider]?: Redacted.Redacted }

/** The keys that owners have brought for their own model calls. */
export class OwnerKeys extends Context.Tag("@berth/OwnerKeys")<
  OwnerKeys,
  { readonly find: (userId: UserId) => Effect.Effect<ModelKeys> }
>() {
  /** Where nobody brings keys. */
  static readonly none = Layer.succeed(OwnerKeys, { find: () => Effect.succeed({}) })
}
