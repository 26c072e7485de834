import { ModelKeyRejected, ModelKeyUnverifiable, ModelKeyVerifier } from "@berth/domain/secrets/ModelKeyVerifier"
import type { ModelCredentialKey } from "@berth/domain/secrets/Credential"
import { Effect, Layer } from "effect"
import { makeModelClient } from "./ModelClients.ts"

const timeout = "10 seconds"

/** `urls`: base URLs, including the version. */
export const layer = (urls: { readonly [provider in ModelCredentialKey]: string }): Layer.Layer<ModelKeyVerifier> =>
  Layer.succeed(
    ModelKeyVerifier,
    ModelKeyVerifier.of({
      verify: Effect.fn("ModelKeyVerifier.verify")(function* (provider, apiKey) {
        const unverifiable = () => new ModelKeyUnverifiable({ provider })
        const { classify, probe } = makeModelClient(provider, { apiKey, baseUrl: urls[provider] })
        yield* probe.pipe(
          Effect.catchTags({
            VendorRequestRejected: (rejection): Effect.Effect<void, ModelKeyRejected | ModelKeyUnverifiable> => {
              const kind = classify(rejection)
              if (kind === "unauthorized" || rejection.status === 403) return new ModelKeyRejected({ provider })
              // Only a valid key is rate limited.
              return kind === "rate-limited" ? Effect.void : unverifiable()
            },
            VendorConnectionFailed: unverifiable,
            VendorAnswerMalformed: unverifiable
          }),
          Effect.interruptible,
          Effect.timeoutFail({ duration: timeout, onTimeout: unverifiable })
        )
      })
    })
  )
