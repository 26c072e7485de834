import type { ModelCredentialKey } from "@berth/domain/secrets/Credential"
import { ModelKeyRejected, ModelKeyVerifier } from "@berth/domain/secrets/ModelKeyVerifier"
import { Context, Effect, Layer, Redacted } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

/** A key to verify. */
export interface ModelKeyCall {
  readonly provider: ModelCredentialKey
  readonly key: Redacted.Redacted
}

/** Calls and behavior of the verifier of `layer`. */
export class ModelKeyVerifierTest extends Context.Tag("@berth/test/ModelKeyVerifierTest")<
  ModelKeyVerifierTest,
  TestPortHandle<ModelKeyCall, ModelKeyVerifier["Type"]>
>() {}

export const rejectedModelKey = Redacted.make("sk-rejected")

const verify: ModelKeyVerifier["Type"]["verify"] = (provider, key) =>
  Redacted.value(key) === Redacted.value(rejectedModelKey) ? new ModelKeyRejected({ provider }) : Effect.void

/** Accepts every key but `rejectedModelKey`, unless the behavior is replaced. */
export const layer: Layer.Layer<ModelKeyVerifier | ModelKeyVerifierTest> = Layer.effectContext(
  Effect.map(makeTestPort<ModelKeyCall, ModelKeyVerifier["Type"]>({ verify }), ({ handle, run }) =>
    Context.make(ModelKeyVerifier, {
      verify: (provider, key) => run({ provider, key }, (behavior) => behavior.verify(provider, key))
    }).pipe(Context.add(ModelKeyVerifierTest, handle))
  )
)
