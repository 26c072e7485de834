import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import * as App from "../support/TestApp.ts"
import { recordSpans } from "../support/RecordedTelemetry.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const Line = Schema.parseJson(
  Schema.Struct({ annotations: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
)

const lineOf = (requestId: string) =>
  Effect.gen(function* () {
    const { logLines } = yield* App.TestApp
    const lines = (yield* logLines)
      .filter((line) => line.includes(requestId))
      .flatMap((line) => Option.toArray(Schema.decodeOption(Line)(line)))
      .map(({ annotations }) => annotations)
      .filter(({ method }) => method !== undefined)
    assert.strictEqual(lines.length, 1)
    return lines[0] ?? {}
  })

layer(App.layer({ agentManagerTransport: "remote" }), { excludeTestServices: true })(
  "The caller of a request",
  (it) => {
    it.effect("The user id is in the log line of an authenticated request", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const ask = (id: string, call: Partial<App.AppCall>) =>
          App.web({ method: "GET", path: "/api/settings?token=hunter2", ...call, headers: { "x-request-id": id } })
        yield* ask("known", { as: owner })
        const { ms, ...known } = yield* lineOf("known")
        assert.isNumber(ms)
        assert.deepStrictEqual(known, {
          method: "GET",
          path: "/api/settings",
          status: 200,
          requestId: "known",
          userId: owner.user.id
        })
        yield* ask("unknown", {})
        assert.notProperty(yield* lineOf("unknown"), "userId")
      })
    )

    it.effect("The user id is sent to the backend, which accepts it only with the internal key", () =>
      Effect.gen(function* () {
        const { internalKey, logLines } = yield* App.TestApp
        const owner = yield* createOwnerWithAgent()
        const path = `/internal/instances/${owner.user.id}/start`
        assert.strictEqual(
          (yield* App.web({ method: "POST", path: path.replace("/internal/instances", "/api/instance"), as: owner }))
            .status,
          200
        )
        const logged = (yield* logLines).filter(
          (line) => line.includes(path) && line.includes(`"userId":"${owner.user.id}"`)
        )
        assert.strictEqual(logged.length, 1)

        const claims = (key: string, id: string) =>
          App.backend({
            method: "POST",
            path,
            headers: {
              authorization: `Bearer ${key}`,
              "x-berth-acting-user": "usr_other",
              "x-request-id": id
            }
          })
        assert.strictEqual((yield* claims("wrong", "forged")).status, 401)
        assert.notProperty(yield* lineOf("forged"), "userId")
        yield* claims(internalKey, "genuine")
        assert.strictEqual((yield* lineOf("genuine"))["userId"], "usr_other")
        yield* App.web({
          method: "GET",
          path: "/api/agents",
          headers: { "x-berth-acting-user": "usr_other", "x-request-id": "to the web".replaceAll(" ", "-") }
        })
        assert.notProperty(yield* lineOf("to-the-web"), "userId")
      })
    )
  }
)

const { layer: recording, spans } = recordSpans()

layer(App.layer().pipe(Layer.provide(recording)), { excludeTestServices: true })("The span of a request", (it) => {
  it.effect("The span of a request has the path and the names of the query, and no secret of the caller", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const headers = {
        referer: "https://example.com/?token=hunter2",
        "idempotency-key": "hunter2",
        "payment-receipt": "hunter2",
        authorization: "Bearer hunter2",
        cookie: `${cookieName}=hunter2`,
        "x-webhook-signature": "hunter2"
      }
      for (const ask of [App.web, App.backend])
        yield* ask({ method: "GET", path: "/api/settings?token=hunter2&again=&token=hunter2", headers })
      const served = spans.filter((attributes) => attributes.get("url.path") === "/api/settings")
      assert.strictEqual(served.length, 2)
      for (const attributes of served) {
        assert.strictEqual(attributes.get("url.query"), "token=REDACTED&again=REDACTED")
        assert.match(String(attributes.get("url.full")), /\/api\/settings\?token=REDACTED&again=REDACTED$/)
      }
      assert.notInclude(JSON.stringify(spans.map((attributes) => [...attributes])), "hunter2")
    })
  )

  it.effect("The spans of provisioning have neither the claim code nor the stream key", () =>
    Effect.gen(function* () {
      const { body, headers } = yield* App.web({
        method: "POST",
        path: "/api/provision",
        json: { platformAToken: "a" }
      })
      const recorded = JSON.stringify(spans.map((attributes) => [...attributes]))
      assert.include(recorded, "http.response.header.x-berth-claim-code")
      for (const secret of [headers["x-berth-claim-code"], body["streamKey"]])
        assert.notInclude(recorded, String(secret))
    })
  )
})
