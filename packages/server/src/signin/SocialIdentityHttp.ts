import { WebApi } from "@berth/api/WebApi"
import { normalizeClientAddress } from "@berth/domain/limits/RateLimiter"
import { Caller } from "@berth/domain/sessions/Caller"
import { socialSessionLifetime, SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { SocialSignIn } from "@berth/domain/signin/social/SocialSignIn"
import { HttpApiBuilder, HttpApp, HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Option, Redacted } from "effect"
import { currentClientAddress } from "../http/ClientAddress.ts"
import { WebSettings } from "../http/WebSettings.ts"

/** What is not one text is as good as nothing. */
const textOf = (value: unknown) => Option.liftPredicate(value, (given): given is string => typeof given === "string")

const addNoStoreHeader = HttpApp.appendPreResponseHandler((_request, response) =>
  Effect.succeed(HttpServerResponse.setHeader(response, "cache-control", "no-store"))
)

const expiresIn = Duration.toSeconds(socialSessionLifetime)

const endpointDescriptions = {
  verify: {
    endpoint: "/api/auth/socialIdentity/verify",
    method: "POST",
    description: "Signs in by an ID token of the social identity network.",
    body: {
      fidToken: "string, required: the ID token",
      address: "string, optional: for token gating, counts when the token or a linked wallet proves it"
    },
    response: {
      success: "boolean",
      sessionToken: "string, base64",
      address: "string or null",
      message: "string",
      tokenGated: "boolean",
      accessLevel: "basic or premium"
    }
  },
  refresh: {
    endpoint: "/api/auth/socialIdentity/refresh",
    method: "POST",
    description: "Exchanges a session token for the next one.",
    body: { refreshToken: "string, required, base64: the session token" },
    response: {
      success: "boolean",
      sessionToken: "string, base64",
      expiresIn: "integer, seconds",
      message: "string"
    }
  }
} as const

export const layer = HttpApiBuilder.group(WebApi, "socialIdentity", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* SocialSignIn
    const sessions = yield* SocialSessions
    const settings = yield* WebSettings

    const messageOf = (accessLevel: "basic" | "premium") =>
      accessLevel === "premium" ? "Signed in with premium access." : "Signed in with basic access."

    return handlers
      .handle("verify", ({ payload }) =>
        Effect.gen(function* () {
          const address = textOf(payload.address)
          const { accessLevel, token, user } = yield* signIn.signIn({
            token: Redacted.make(Option.getOrElse(textOf(payload.fidToken), () => "")),
            address,
            from: normalizeClientAddress(yield* Effect.provideService(currentClientAddress, WebSettings, settings))
          })
          yield* (yield* Caller).identify(user.id)
          yield* addNoStoreHeader
          return {
            success: true as const,
            sessionToken: token,
            address: Option.getOrNull(address),
            message: messageOf(accessLevel),
            tokenGated: accessLevel === "premium",
            accessLevel
          }
        })
      )
      .handle("aboutVerify", () => Effect.succeed(endpointDescriptions.verify))
      .handle("refresh", ({ payload: { refreshToken } }) =>
        Effect.gen(function* () {
          const sessionToken = yield* sessions.refresh(refreshToken)
          yield* addNoStoreHeader
          return { success: true as const, sessionToken, expiresIn, message: "The session goes on with this token." }
        })
      )
      .handle("aboutRefresh", () => Effect.succeed(endpointDescriptions.refresh))
  })
)
