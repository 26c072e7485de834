import { modelCredentialKeys } from "@berth/domain/secrets/Credential"
import { ModelKeyVerifier } from "@berth/domain/secrets/ModelKeyVerifier"
import * as HttpModelKeyVerifier from "@berth/infra/ai/HttpModelKeyVerifier"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { listenLocally } from "../support/LocalServer.ts"

/** A provider that answers a key as the key says: `status-401`. */
const provider = Effect.gen(function* () {
  const asked: Array<string> = []
  const origin = yield* listenLocally(
    createServer(({ headers, method, url }, response) => {
      asked.push(`${method} ${url?.split("?")[0]}`)
      const key = [headers.authorization, headers["x-api-key"], headers["x-goog-api-key"]].join(" ")
      const status = Number(/status-(\d+)/.exec(key)?.[1] ?? 418)
      response.writeHead(status, { "content-type": "application/json" }).end('{"data":[],"models":[]}')
    })
  )
  return { url: `${origin.origin}/v1`, asked }
})

it.scopedLive("ModelKeyVerifier checks a key by the cheapest call of each provider", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* provider
    const check = (name: (typeof modelCredentialKeys)[number], key: string) =>
      Effect.flatMap(ModelKeyVerifier, (service) => service.verify(name, Redacted.make(key))).pipe(
        Effect.provide(HttpModelKeyVerifier.layer({ anthropic: url, openai: url, openrouter: url, google: url })),
        Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: () => "good" })
      )
    for (const name of modelCredentialKeys) {
      assert.strictEqual(yield* check(name, "status-200"), "good", name)
      assert.strictEqual(yield* check(name, "status-401"), "ModelKeyRejected", name)
      assert.strictEqual(yield* check(name, "status-403"), "ModelKeyRejected", name)
      assert.strictEqual(yield* check(name, "status-429"), "good", name)
      assert.strictEqual(yield* check(name, "status-500"), "ModelKeyUnverifiable", name)
    }
    // OpenRouter's list of models is public.
    assert.sameMembers([...new Set(asked)], ["GET /v1/models", "GET /v1/key"])
    const nobody = "http://127.0.0.1:1/v1"
    const unreachable = Effect.flatMap(ModelKeyVerifier, (service) =>
      service.verify("openai", Redacted.make("k"))
    ).pipe(
      Effect.provide(
        HttpModelKeyVerifier.layer({ anthropic: nobody, openai: nobody, openrouter: nobody, google: nobody })
      )
    )
    assert.strictEqual((yield* Effect.flip(unreachable))._tag, "ModelKeyUnverifiable")
  })
)
