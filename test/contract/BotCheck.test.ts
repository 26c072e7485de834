import * as HeuristicBotDetection from "@berth/infra/bots/HeuristicBotDetection"
import * as TurnstileBotDetection from "@berth/infra/bots/TurnstileBotDetection"
import { FetchHttpClient } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { browsers, programs } from "../support/Browsers.ts"
import type { HttpAnswer } from "../support/HttpCall.ts"
import { unique } from "../support/Samples.ts"
import { turnstileSecret, turnstileStandIn } from "../support/TurnstileStandIn.ts"
import * as App from "../support/WebApp.ts"
import { assertError } from "./Answers.ts"

const password = "correct horse battery"
const chrome = browsers["Chrome on Windows"]

const guarded = [
  ["/api/register", (email: string) => ({ email, password })],
  ["/api/auth/forgot-password", (email: string) => ({ email })]
] as const

const send = (
  path: string,
  json: unknown,
  headers: Readonly<Record<string, string>>,
  more: Partial<App.AppCall> = {}
) => Effect.flatMap(App.WebApp, ({ web }) => web({ method: "POST", path, json, headers, ...more }))

const freshEmail = Effect.map(unique("visitor"), (local) => `${local}@example.com`)

const assertBlocked = (answer: HttpAnswer) => assertError(answer, { status: 403, code: "bot_blocked" })

const window = Duration.minutes(30)
const limits = { register: { count: 2, window }, "forgot-password": { count: 2, window } }

layer(App.layer({ bots: HeuristicBotDetection.layer, limits }), { excludeTestServices: true })(
  "Where requests are looked at",
  (it) => {
    for (const [path, body] of guarded) {
      it.effect(`${path} lets browsers in and keeps programs out`, () =>
        Effect.gen(function* () {
          for (const headers of Object.values(browsers))
            assert.strictEqual((yield* send(path, body(yield* freshEmail), headers)).status, 200)
          for (const headers of Object.values(programs))
            assertBlocked(yield* send(path, body(yield* freshEmail), headers))
        })
      )

      it.effect(`${path} keeps programs out before it looks at what they say, and counts them before that`, () =>
        Effect.gen(function* () {
          const from = `192.0.2.${path.length}`
          const ask = send(path, { email: 5 }, {}, { from })
          assertBlocked(yield* ask)
          assertBlocked(yield* ask)
          assertError(yield* ask, { status: 429, code: "too_many_requests" })
        })
      )
    }

    it.effect("and everything else is for programs too", () =>
      Effect.gen(function* () {
        const { web } = yield* App.WebApp
        const email = yield* freshEmail
        yield* send("/api/register", { email, password }, chrome)
        const signIn = yield* send(
          "/api/auth/callback/credentials",
          { email, password },
          { "user-agent": "curl/8.5.0" }
        )
        assert.strictEqual(signIn.status, 200)
        const reset = yield* send("/api/auth/reset-password", { token: "none", password }, {})
        assertError(reset, { status: 400, code: "invalid_reset_token" })
        assert.strictEqual((yield* web({ method: "GET", path: "/health/live" })).status, 200)
      })
    )
  }
)

class Turnstile extends Context.Tag("@berth/test/Turnstile")<
  Turnstile,
  Effect.Effect.Success<typeof turnstileStandIn>
>() {}

const challenged = Layer.unwrapScoped(
  Effect.map(turnstileStandIn, (turnstile) =>
    App.layer({
      bots: TurnstileBotDetection.layer({ url: turnstile.url, secret: Redacted.make(turnstileSecret) }).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
    }).pipe(Layer.merge(Layer.succeed(Turnstile, turnstile)))
  )
)

layer(challenged, { excludeTestServices: true })("Where a challenge is asked for", (it) => {
  for (const [path, body] of guarded)
    it.effect(`${path} takes its token in the body or in a header, once`, () =>
      Effect.gen(function* () {
        const [inBody, inHeader] = [yield* unique("passed"), yield* unique("passed")]
        const asked = (token: string) =>
          Effect.flatMap(freshEmail, (email) => send(path, { ...body(email), turnstileToken: token }, {}))
        const askedByHeader = (token: string) =>
          Effect.flatMap(freshEmail, (email) => send(path, body(email), { "cf-turnstile-response": token }))
        assert.strictEqual((yield* asked(inBody)).status, 200)
        assertBlocked(yield* asked(inBody))
        assert.strictEqual((yield* askedByHeader(inHeader)).status, 200)
        assertBlocked(yield* askedByHeader(inHeader))
        assertBlocked(yield* send(path, body(yield* freshEmail), chrome))
        assertBlocked(yield* asked("failed"))
      })
    )

  it.effect("a body that is none holds no token", () =>
    Effect.gen(function* () {
      const { web } = yield* App.WebApp
      for (const body of ["{", "[]", "null", '"passed-x"', '{"turnstileToken":["passed-x"]}'])
        assertBlocked(
          yield* web({
            method: "POST",
            path: "/api/register",
            body,
            headers: { "content-type": "application/json" }
          })
        )
    })
  )

  it.effect("nobody comes in while nobody answers for it, and no token is told on", () =>
    Effect.gen(function* () {
      const { logged } = yield* App.WebApp
      const turnstile = yield* Turnstile
      yield* turnstile.answerWith({ status: 503, body: "down" })
      const token = yield* unique("passed")
      const [path, body] = guarded[0]
      assertBlocked(yield* send(path, { ...body(yield* freshEmail), turnstileToken: token }, chrome))
      yield* turnstile.answerWith(null)
      assert.strictEqual((yield* send(path, { ...body(yield* freshEmail), turnstileToken: token }, chrome)).status, 200)
      const lines = (yield* logged).join()
      assert.notInclude(lines, token)
      assert.notInclude(lines, turnstileSecret)
    })
  )
})
