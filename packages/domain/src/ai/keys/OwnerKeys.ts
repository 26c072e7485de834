import { Context, Effect, Layer, type Redacted } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The providers whose keys owners can bring. */
export const ownableProviders = [
  "openrouter",
  "anthropic",
  "openai",
  "google",
  "groq"
] as const satisfies ReadonlyArray<ProviderName>
export type OwnableProvider = (typeof ownableProviders)[number]

export type ModelKeys = { readonly [name in OwnableProvider]?: Redacted.Redacted }

/** Owners' keys for their own model calls. */
export class OwnerKeys extends Context.Tag("@berth/OwnerKeys")<
  OwnerKeys,
  { readonly find: (userId: UserId) => Effect.Effect<ModelKeys> }
>() {
  static readonly none = Layer.succeed(OwnerKeys, { find: () => Effect.succeed({}) })
}
