import * as HeuristicBotDetection from "@berth/infra/bots/HeuristicBotDetection"
import * as TurnstileBotDetection from "@berth/infra/bots/TurnstileBotDetection"
import { FetchHttpClient } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { browserHeaders, programHeaders } from "../support/BrowserHeaders.ts"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { uniqueName } from "../support/Samples.ts"
import { turnstileSecret, makeFakeTurnstile } from "../fakes/FakeTurnstile.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"

const password = "correct horse battery"
const chrome = browserHeaders["Chrome on Windows"]

const guarded = [
  ["/api/register", (email: string) => ({ email, password })],
  ["/api/auth/forgot-password", (email: string) => ({ email })]
] as const

const send = (
  path: string,
  json: unknown,
  headers: Readonly<Record<string, string>>,
  more: Partial<App.AppCall> = {}
) => App.web({ method: "POST", path, json, headers, ...more })

const freshEmail = Effect.map(uniqueName("visitor"), (local) => `${local}@example.com`)

const forms = [
  ["/signup", Effect.map(freshEmail, (email) => ({ email, password }))],
  ["/forgot-password", Effect.map(freshEmail, (email) => ({ email }))]
] as const

const submit = (
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  more: Partial<App.AppCall> = {}
) =>
  App.web({
    method: "POST",
    path,
    body: new URLSearchParams(fields).toString(),
    headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
    ...more
  })

const assertBlocked = (answer: HttpCallResponse) => assertError(answer, { status: 403, code: "bot_blocked" })

const window = Duration.minutes(30)
const limits = { register: { count: 2, window }, "forgot-password": { count: 2, window } }

layer(App.layer({ overrides: HeuristicBotDetection.layer, limits }), { excludeTestServices: true })(
  "Heuristic bot detection",
  (it) => {
    for (const [path, body] of guarded) {
      it.effect(`The bot check admits browsers and rejects programs at ${path}`, () =>
        Effect.gen(function* () {
          for (const headers of Object.values(browserHeaders))
            assert.strictEqual((yield* send(path, body(yield* freshEmail), headers)).status, 200)
          // The origin check rejects a cross-site request before the bot check.
          const { "a browser on another site's page": crossSite, ...programs } = programHeaders
          for (const headers of Object.values(programs))
            assertBlocked(yield* send(path, body(yield* freshEmail), headers))
          assertError(yield* send(path, body(yield* freshEmail), crossSite ?? {}), {
            status: 403,
            code: "origin_not_allowed"
          })
        })
      )

      it.effect(`The bot check rejects programs at ${path} before validation and after the rate limit`, () =>
        Effect.gen(function* () {
          const from = `192.0.2.${path.length}`
          const ask = send(path, { email: 5 }, {}, { from })
          assertBlocked(yield* ask)
          assertBlocked(yield* ask)
          assertError(yield* ask, { status: 429, code: "rate_limit_exceeded" })
        })
      )
    }

    for (const [path, fields] of forms)
      it.effect(`The bot check guards the form of ${path} with the limit of its JSON route`, () =>
        Effect.gen(function* () {
          const from = `192.0.2.${100 + path.length}`
          const [program] = Object.values(programHeaders)
          const submitted = yield* submit(path, yield* fields, chrome, { from })
          assert.strictEqual(submitted.status, 302, submitted.text)
          assertBlocked(yield* submit(path, yield* fields, program ?? {}, { from }))
          const limited = yield* submit(path, yield* fields, { ...chrome, accept: "text/html" }, { from })
          assert.strictEqual(limited.status, 429)
          assert.approximately(Number(limited.headers["retry-after"]), 1_770, 30)
          assert.include(limited.text, "Too many requests")
          const [jsonPath, body] = path === "/signup" ? guarded[0] : guarded[1]
          const program429 = yield* send(jsonPath, body(yield* freshEmail), chrome, { from })
          assertError(program429, { status: 429, code: "rate_limit_exceeded" })
        })
      )

    it.effect("The bot check does not apply to other routes", () =>
      Effect.gen(function* () {
        const email = yield* freshEmail
        yield* send("/api/register", { email, password }, chrome)
        const signIn = yield* send(
          "/api/auth/callback/credentials",
          { email, password },
          { "user-agent": "curl/8.5.0" }
        )
        assert.strictEqual(signIn.status, 200)
        const reset = yield* send("/api/auth/reset-password", { token: "none", password }, {})
        assertError(reset, { status: 400, code: "reset_token_invalid" })
        assert.strictEqual((yield* App.web({ method: "GET", path: "/health/live" })).status, 200)
      })
    )
  }
)

class Turnstile extends Context.Tag("@berth/test/Turnstile")<
  Turnstile,
  Effect.Effect.Success<typeof makeFakeTurnstile>
>() {}

const challenged = Layer.unwrapScoped(
  Effect.map(makeFakeTurnstile, (turnstile) =>
    App.layer({
      overrides: TurnstileBotDetection.layer({ url: turnstile.url, secret: Redacted.make(turnstileSecret) }).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
    }).pipe(Layer.merge(Layer.succeed(Turnstile, turnstile)))
  )
)

layer(challenged, { excludeTestServices: true })("Turnstile bot detection", (it) => {
  for (const [path, body] of guarded)
    it.effect(`Turnstile bot detection accepts a token at ${path} once, in the body or in a header`, () =>
      Effect.gen(function* () {
        const [inBody, inHeader] = [yield* uniqueName("passed"), yield* uniqueName("passed")]
        const requested = (token: string) =>
          Effect.flatMap(freshEmail, (email) => send(path, { ...body(email), turnstileToken: token }, {}))
        const askedByHeader = (token: string) =>
          Effect.flatMap(freshEmail, (email) => send(path, body(email), { "cf-turnstile-response": token }))
        assert.strictEqual((yield* requested(inBody)).status, 200)
        assertBlocked(yield* requested(inBody))
        assert.strictEqual((yield* askedByHeader(inHeader)).status, 200)
        assertBlocked(yield* askedByHeader(inHeader))
        assertBlocked(yield* send(path, body(yield* freshEmail), chrome))
        assertBlocked(yield* requested("failed"))
      })
    )

  for (const [path, fields] of forms)
    it.effect(`Turnstile bot detection accepts the token of the form of ${path}`, () =>
      Effect.gen(function* () {
        assertBlocked(yield* submit(path, yield* fields, {}))
        const token = { "cf-turnstile-response": yield* uniqueName("passed") }
        assert.strictEqual((yield* submit(path, { ...(yield* fields), ...token }, {})).status, 302)
        assertBlocked(yield* submit(path, { ...(yield* fields), ...token }, {}))
      })
    )

  it.effect("Turnstile bot detection finds no token in a malformed body", () =>
    Effect.gen(function* () {
      for (const body of ["{", "[]", "null", '"passed-x"', '{"turnstileToken":["passed-x"]}'])
        assertBlocked(
          yield* App.web({
            method: "POST",
            path: "/api/register",
            body,
            headers: { "content-type": "application/json" }
          })
        )
    })
  )

  it.effect("Turnstile bot detection rejects requests while Turnstile is unavailable, and logs no token", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const turnstile = yield* Turnstile
      yield* turnstile.respondWith({ status: 503, body: "down" })
      const token = yield* uniqueName("passed")
      const [path, body] = guarded[0]
      assertBlocked(yield* send(path, { ...body(yield* freshEmail), turnstileToken: token }, chrome))
      yield* turnstile.respondWith(null)
      assert.strictEqual((yield* send(path, { ...body(yield* freshEmail), turnstileToken: token }, chrome)).status, 200)
      const lines = (yield* logLines).join()
      assert.notInclude(lines, token)
      assert.notInclude(lines, turnstileSecret)
    })
  )
})
