import { Context, Data, type Effect, type Redacted } from "effect"
import type { modelCredentialKeys } from "./Credential.ts"

export type ModelCredentialKey = (typeof modelCredentialKeys)[number]

/** The provider does not take the key, or not for any work: it is wrong, or has no credit. */
export class KeyIsRefused extends Data.TaggedError("KeyIsRefused")<{ readonly provider: ModelCredentialKey }> {}

/** The provider does not say whether the key is good. */
export class KeyCannotBeChecked extends Data.TaggedError("KeyCannotBeChecked")<{
  readonly provider: ModelCredentialKey
}> {}

/** Asks a model provider whether a key is good, by its cheapest call that needs one. */
export class KeyCheck extends Context.Tag("@berth/KeyCheck")<
  KeyCheck,
  {
    readonly check: (
      provider: ModelCredentialKey,
      key: Redacted.Redacted
    ) => Effect.Effect<void, KeyIsRefused | KeyCannotBeChecked>
  }
>() {}
