import { type ModelCredentialKey, modelCredentialKeys } from "@berth/domain/secrets/Credential"
import { ModelKeyVerifier } from "@berth/domain/secrets/ModelKeyVerifier"
import * as HttpModelKeyVerifier from "@berth/infra/ai/HttpModelKeyVerifier"
import * as ModelKeyVerifierTest from "@berth/infra/ai/ModelKeyVerifierTest"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { createServer } from "node:http"
import { anthropicWire, googleWire, groqWire, openAiWire, openRouterWire } from "../fakes/models/ModelWires.ts"
import { listenLocally } from "../support/LocalServer.ts"

const wires = {
  anthropic: anthropicWire,
  openai: openAiWire,
  openrouter: openRouterWire,
  google: googleWire,
  groq: groqWire
}

interface Subject {
  readonly layer: Layer.Layer<ModelKeyVerifier>
  readonly validKey: string
}

const subjects: Record<string, (provider: ModelCredentialKey) => Effect.Effect<Subject, never, Scope.Scope>> = {
  http: (provider) =>
    Effect.map(wires[provider].makeFake, ({ apiKey, baseUrl }) => ({ layer: layerAt(baseUrl), validKey: apiKey })),
  "test Layer": () => Effect.succeed({ layer: ModelKeyVerifierTest.layer, validKey: "sk-valid" })
}

const layerAt = (url: string) =>
  HttpModelKeyVerifier.layer({ anthropic: url, openai: url, openrouter: url, google: url, groq: url })

/** The tag of the failure, or "valid". */
const verify = (layer: Layer.Layer<ModelKeyVerifier>, provider: ModelCredentialKey, key: Redacted.Redacted) =>
  Effect.flatMap(Layer.build(layer), (context) => Context.get(context, ModelKeyVerifier).verify(provider, key)).pipe(
    Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: () => "valid" })
  )

describe("ModelKeyVerifier", () => {
  for (const [name, connect] of Object.entries(subjects))
    for (const provider of modelCredentialKeys)
      it.scopedLive(`ModelKeyVerifier (${name}) accepts a valid key of ${provider} and rejects another`, () =>
        Effect.gen(function* () {
          const { layer, validKey } = yield* connect(provider)
          assert.strictEqual(yield* verify(layer, provider, Redacted.make(validKey)), "valid")
          assert.strictEqual(yield* verify(layer, provider, ModelKeyVerifierTest.rejectedModelKey), "ModelKeyRejected")
        })
      )

  const statuses = [
    [200, "valid"],
    [401, "ModelKeyRejected"],
    [403, "ModelKeyRejected"],
    // A rate limit of the key proves that the key is valid.
    [429, "valid"],
    [500, "ModelKeyUnverifiable"]
  ] as const

  it.scopedLive.each(statuses)(
    "ModelKeyVerifier (http) maps the status %i of every provider to %s",
    ([status, result]) =>
      Effect.gen(function* () {
        const requests = new Set<string>()
        const { origin } = yield* listenLocally(
          createServer(({ method, url }, response) => {
            requests.add(`${method} ${url?.split("?")[0]}`)
            response.writeHead(status, { "content-type": "application/json" }).end('{"data":[],"models":[]}')
          })
        )
        for (const provider of modelCredentialKeys)
          assert.strictEqual(
            yield* verify(layerAt(`${origin}/v1`), provider, Redacted.make("sk-any")),
            result,
            provider
          )
        // OpenRouter's list of models is public.
        assert.sameMembers([...requests], ["GET /v1/models", "GET /v1/key"])
      })
  )

  it.scopedLive("ModelKeyVerifier (http) reports an unreachable provider as unverifiable", () =>
    Effect.gen(function* () {
      const result = yield* verify(layerAt("http://127.0.0.1:1/v1"), "openai", Redacted.make("sk-any"))
      assert.strictEqual(result, "ModelKeyUnverifiable")
    })
  )
})
