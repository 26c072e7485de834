import { BotCheck, botChallengeHeader, botChallengeField } from "@berth/api/accounts/bot-detection/BotCheck"
import { BotDetection } from "@berth/domain/accounts/bot-detection/BotDetection"
import { HttpServerRequest, UrlParams } from "@effect/platform"
import { Effect, Layer, Option, Predicate, Redacted } from "effect"
import { readClientAddress } from "../http/ClientAddress.ts"
import { isForm } from "../http/RequestBody.ts"
import { WebSettings } from "../http/WebSettings.ts"

const nonEmptyText = (value: unknown) =>
  Option.filter(Option.some(value), Predicate.isString).pipe(
    Option.filter((text) => text !== ""),
    Option.map((text) => Redacted.make(text))
  )

/**
 * An unreadable body contains no token; the decoder reports the problem later. A challenge's form field has the name of
 * its header.
 */
const inBody = (request: HttpServerRequest.HttpServerRequest) =>
  isForm(request)
    ? Effect.exit(request.urlParamsBody).pipe(
        Effect.map((body) =>
          body._tag === "Success"
            ? Option.flatMap(UrlParams.getFirst(body.value, botChallengeHeader), nonEmptyText)
            : Option.none()
        )
      )
    : Effect.exit(request.json).pipe(
        Effect.map((body) =>
          body._tag === "Success" && Predicate.hasProperty(body.value, botChallengeField)
            ? nonEmptyText(body.value[botChallengeField])
            : Option.none()
        )
      )

export const layer = Layer.effect(
  BotCheck,
  Effect.gen(function* () {
    const bots = yield* BotDetection
    const { trustedProxies } = yield* WebSettings
    return BotCheck.of(
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        bots.check({
          headers: request.headers,
          address: readClientAddress(request, trustedProxies),
          token: Option.match(nonEmptyText(request.headers[botChallengeHeader]), {
            onNone: () => inBody(request),
            onSome: (token) => Effect.succeedSome(token)
          })
        })
      )
    )
  })
)
