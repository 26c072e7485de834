import { Context, Data, type Effect, type Redacted } from "effect"
import type { modelCredentialKeys } from "./Credential.ts"

export type ModelCredentialKey = (typeof modelCredentialKeys)[number]

/** The provider does not take the key, or not for any work: it is wrong, or has no credit. */
export class ModelKeyRejected extends Data.TaggedError("ModelKeyRejected")<{ readonly provider: ModelCredentialKey }> {}

/** The provider does not say whether the key is good. */
export class ModelKeyUnverifiable extends Data.TaggedError("ModelKeyUnverifiable")<{
  readonly provider: ModelCredentialKey
}> {}

/** Asks a model provider whether a key is good, by its cheapest call that needs one. */
export class ModelKeyVerifier extends Context.Tag("@berth/ModelKeyVerifier")<
  ModelKeyVerifier,
  {
    readonly verify: (
      provider: ModelCredentialKey,
      key: Redacted.Redacted
    ) => Effect.Effect<void, ModelKeyRejected | ModelKeyUnverifiable>
  }
>() {}
