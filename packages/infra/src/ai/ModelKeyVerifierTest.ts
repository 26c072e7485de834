import { ModelKeyRejected, ModelKeyVerifier } from "@berth/domain/secrets/ModelKeyVerifier"
import { Effect, Layer, Redacted } from "effect"

export const rejectedModelKey = Redacted.make("sk-rejected")

/** Accepts every key but `rejectedModelKey`. */
export const layer = Layer.succeed(ModelKeyVerifier, {
  verify: (provider, key) =>
    Redacted.value(key) === Redacted.value(rejectedModelKey) ? new ModelKeyRejected({ provider }) : Effect.void
})
