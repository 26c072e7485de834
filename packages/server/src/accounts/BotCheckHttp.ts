import { BotCheck, challengeHeader, challengeMember } from "@berth/api/accounts/BotCheck"
import { BotDetection } from "@berth/domain/accounts/BotDetection"
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option, Predicate, Redacted } from "effect"
import { addressOf } from "../http/ClientAddress.ts"
import { WebSettings } from "../http/WebSettings.ts"

const given = (value: unknown) =>
  Option.filter(Option.some(value), Predicate.isString).pipe(
    Option.filter((text) => text !== ""),
    Option.map((text) => Redacted.make(text))
  )

/** A body that cannot be read holds no token; what is wrong with it is told to whoever passes otherwise. */
const inBody = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.exit(request.json).pipe(
    Effect.map((body) =>
      body._tag === "Success" && Predicate.hasProperty(body.value, challengeMember)
        ? given(body.value[challengeMember])
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
        bots.judge({
          headers: request.headers,
          address: addressOf(request, trustedProxies),
          token: Option.match(given(request.headers[challengeHeader]), {
            onNone: () => inBody(request),
            onSome: (token) => Effect.succeedSome(token)
          })
        })
      )
    )
  })
)
