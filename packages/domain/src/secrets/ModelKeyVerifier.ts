import { Context, Data, type Effect, type Redacted } from "effect"
import type { ModelCredentialKey } from "./Credential.ts"

/** The provider rejects the key: invalid, or without credit. */
export class ModelKeyRejected extends Data.TaggedError("ModelKeyRejected")<{ readonly provider: ModelCredentialKey }> {}

/** The provider's verdict on the key is unavailable. */
export class ModelKeyUnverifiable extends Data.TaggedError("ModelKeyUnverifiable")<{
  readonly provider: ModelCredentialKey
}> {}

/** Checks a key by the provider's cheapest authenticated call. */
export class ModelKeyVerifier extends Context.Tag("@berth/ModelKeyVerifier")<
  ModelKeyVerifier,
  {
    readonly verify: (
      provider: ModelCredentialKey,
      key: Redacted.Redacted
    ) => Effect.Effect<void, ModelKeyRejected | ModelKeyUnverifiable>
  }
>() {}
