import type { User } from "@berth/domain/shared/User"
import { HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import { makeCallbackQuery } from "./SignInSections.ts"
import { pagePaths } from "./PagePaths.ts"

/** Pages that require a session; other visitors are redirected to the sign-in and back. */
export const makeSignedInPages = Effect.gen(function* () {
  const { appUrl } = yield* WebSettings
  const credentials = yield* RequestCredentials

  return <E, R>(
    respond: (user: User, query: URLSearchParams) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      return yield* Option.match(yield* credentials.findVisitor, {
        onNone: () =>
          Effect.succeed(
            redirectPrivately(`${pagePaths.login}?${makeCallbackQuery(resolveCallbackPath(request.url, appUrl))}`)
          ),
        onSome: (user) => respond(user, readQuery(request))
      })
    })
})
