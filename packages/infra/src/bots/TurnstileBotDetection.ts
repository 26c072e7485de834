import { BotDetection, BotBlocked, type Visitor } from "@berth/domain/accounts/bot-detection/BotDetection"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Duration, Effect, Layer, Option, Redacted, Schema } from "effect"

interface TurnstileOptions {
  /** The siteverify endpoint, https://developers.cloudflare.com/turnstile/get-started/server-side-validation/ */
  readonly url: URL
  readonly secret: Redacted.Redacted
  /** Default: 5 s. */
  readonly timeout?: Duration.Duration
}

const Verdict = Schema.Struct({
  success: Schema.Boolean,
  "error-codes": Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
})

/** Maximum token length by the vendor's documentation. */
const maximumTokenLength = 2048

/** Vendor's error codes, limited in length. */
const isCode = (text: string) => /^[a-z0-9-]{1,64}$/.test(text)

/** Verifies a challenge token with Cloudflare Turnstile, which enforces single use and a five-minute lifetime. Fails closed. */
export const layer = ({
  timeout = Duration.seconds(5),
  secret,
  url
}: TurnstileOptions): Layer.Layer<BotDetection, never, HttpClient.HttpClient> =>
  Layer.effect(
    BotDetection,
    Effect.map(HttpClient.HttpClient, (http) => {
      const client = HttpClient.withTracerPropagation(http, false).pipe(
        HttpClient.transformResponse(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }))
      )

      const ask = (token: Redacted.Redacted, address: string) =>
        client
          .execute(
            HttpClientRequest.post(url, { acceptJson: true }).pipe(
              HttpClientRequest.bodyUrlParams({
                secret: Redacted.value(secret),
                response: Redacted.value(token),
                remoteip: address
              })
            )
          )
          .pipe(
            Effect.flatMap(HttpClientResponse.filterStatusOk),
            Effect.flatMap(HttpClientResponse.schemaBodyJson(Verdict)),
            Effect.scoped
          )

      /** Disconnects: HTTP middleware is uninterruptible, so a hanging call would exceed the timeout. */
      const inTime = <A, E>(request: Effect.Effect<A, E>) =>
        Effect.interruptible(Effect.disconnect(request).pipe(Effect.timeoutOption(timeout)))

      return BotDetection.of({
        check: Effect.fn("BotDetection.check")(function* ({ address, token }: Visitor) {
          const shown = Option.filter(yield* token, (text) => {
            const { length } = Redacted.value(text)
            return length > 0 && length <= maximumTokenLength
          })
          if (Option.isNone(shown)) return yield* new BotBlocked()
          const verdict = yield* inTime(ask(shown.value, address)).pipe(
            Effect.catchAll((error) =>
              Effect.as(
                Effect.logWarning("Turnstile check failed").pipe(Effect.annotateLogs({ reason: error._tag })),
                Option.none()
              )
            )
          )
          if (Option.exists(verdict, ({ success }) => success)) return
          const codes = Option.match(verdict, {
            onNone: () => ["no answer"],
            onSome: (answer) => answer["error-codes"].filter(isCode)
          })
          yield* Effect.logInfo("Turnstile challenge not passed").pipe(Effect.annotateLogs({ codes: codes.join(", ") }))
          return yield* new BotBlocked()
        })
      })
    })
  )
