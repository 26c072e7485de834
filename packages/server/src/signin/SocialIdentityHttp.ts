import { WebApi } from "@berth/api/WebApi"
import { Caller } from "@berth/domain/sessions/Caller"
import { socialSessionLifetime, SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { SocialSignIn } from "@berth/domain/signin/social/SocialSignIn"
import { Duration, Effect, Option, Redacted } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addResponseHeaders, addRetryAfter, privately } from "../http/ResponseHeaders.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"

const readText = (value: unknown) => Option.liftPredicate(value, (text): text is string => typeof text === "string")

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

export const layer = group(WebApi, "socialIdentity", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* SocialSignIn
    const sessions = yield* SocialSessions

    const describeAccess = (accessLevel: "basic" | "premium") =>
      accessLevel === "premium" ? "Signed in with premium access." : "Signed in with basic access."

    return handlers
      .handle("verify", ({ payload }) =>
        Effect.gen(function* () {
          const address = readText(payload.address)
          const { accessLevel, token, user } = yield* signIn
            .signIn({
              token: Redacted.make(Option.getOrElse(readText(payload.fidToken), () => "")),
              address,
              from: yield* currentAddressKey
            })
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
          yield* (yield* Caller).identify(user.id)
          yield* addResponseHeaders(privately)
          return {
            success: true as const,
            sessionToken: token,
            address: Option.getOrNull(address),
            message: describeAccess(accessLevel),
            tokenGated: accessLevel === "premium",
            accessLevel
          }
        })
      )
      .handle("aboutVerify", () => Effect.succeed(endpointDescriptions.verify))
      .handle("refresh", ({ payload: { refreshToken } }) =>
        Effect.gen(function* () {
          const sessionToken = yield* sessions.refresh(refreshToken)
          yield* addResponseHeaders(privately)
          return { success: true as const, sessionToken, expiresIn, message: "Session refreshed." }
        })
      )
      .handle("aboutRefresh", () => Effect.succeed(endpointDescriptions.refresh))
  })
)
