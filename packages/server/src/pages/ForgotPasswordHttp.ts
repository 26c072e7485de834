import { BotCheck } from "@berth/api/accounts/bot-detection/BotCheck"
import { ForgotPasswordLimit } from "@berth/api/limits/RateLimits"
import { PasswordResets } from "@berth/domain/recovery/password-reset/PasswordResets"
import { HttpLayerRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { readAccountProblems } from "./AccountProblems.ts"
import { renderForgotPasswordPage } from "./ForgotPasswordPage.ts"
import { emptyForm, type FormState, formType, readForm } from "./FormFields.ts"
import { guardForm } from "./FormGuard.ts"
import { makePageResponse } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { pagePaths } from "./PagePaths.ts"

const path = pagePaths.forgotPassword

export const forgotPasswordRoutes = [
  makePlainRoute("GET", path),
  { ...makePlainRoute("POST", path), bodyTypes: [formType] }
]

/** `/forgot-password` and its form, with the limits of `POST /api/auth/forgot-password`. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const assets = yield* PageAssets
    const bots = yield* BotCheck
    const credentials = yield* RequestCredentials
    const limit = yield* ForgotPasswordLimit
    const resets = yield* PasswordResets

    const respond = (state: FormState, status = 200) =>
      Effect.map(credentials.findVisitor, (visitor) =>
        makePageResponse(
          assets,
          {
            title: "Reset your password",
            main: renderForgotPasswordPage(state),
            script: "login.js",
            isSignedIn: Option.isSome(visitor)
          },
          { status }
        )
      )

    const submit = Effect.gen(function* () {
      const field = yield* readForm(yield* HttpServerRequest.HttpServerRequest)
      const email = field("email")
      return yield* resets.requestLink(email).pipe(
        Effect.as(redirectPrivately(`${pagePaths.login}?notice=reset_requested`)),
        Effect.catchTag("EmailInvalid", (error) => {
          const { problems, status } = readAccountProblems(error)
          return respond({ values: { email }, problems }, status)
        })
      )
    })

    yield* router.add("GET", path, respond(emptyForm))
    yield* router.add("POST", path, guardForm(limit, bots, submit))
  })
)
