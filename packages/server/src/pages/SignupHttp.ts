import { BotCheck } from "@berth/api/accounts/bot-detection/BotCheck"
import { RegisterLimit, SignInLimit } from "@berth/api/limits/RateLimits"
import { Registration } from "@berth/domain/accounts/registration/Registration"
import { Caller } from "@berth/domain/sessions/Caller"
import { OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { PasswordSignIn } from "@berth/domain/signin/password/PasswordSignIn"
import { HttpLayerRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Option, Redacted } from "effect"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { SessionCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import { readAccountProblems } from "./AccountProblems.ts"
import { emptyForm, type FormState, formType, readForm } from "./FormFields.ts"
import { guardForm } from "./FormGuard.ts"
import { makePageResponse, PageSettings } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { pagePaths } from "./PagePaths.ts"
import { listProviders, makeCallbackQuery } from "./SignInSections.ts"
import { renderSignupPage } from "./SignupPage.ts"

const path = pagePaths.signup

export const signupRoutes = [makePlainRoute("GET", path), { ...makePlainRoute("POST", path), bodyTypes: [formType] }]

/** `/signup` and its form, which registers with the limits of `POST /api/register` and signs in. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const { administratorHint } = yield* PageSettings
    const assets = yield* PageAssets
    const bots = yield* BotCheck
    const cookie = yield* SessionCookie
    const credentials = yield* RequestCredentials
    const limit = yield* RegisterLimit
    const signInLimit = yield* SignInLimit
    const registration = yield* Registration
    const signIn = yield* PasswordSignIn
    const providers = listProviders(yield* OAuthProviders)

    const resolve = (requested: string | null) => resolveCallbackPath(requested ?? pagePaths.onboarding, appUrl)

    const respond = (requested: string | null, state: FormState, status = 200) => {
      const loginUrl =
        requested === null ? pagePaths.login : `${pagePaths.login}?${makeCallbackQuery(resolve(requested))}`
      return makePageResponse(
        assets,
        {
          title: "Create an account",
          main: renderSignupPage({
            appUrl,
            callbackUrl: resolve(requested),
            providers,
            loginUrl,
            administratorHint,
            state
          }),
          script: "signup.js",
          isSignedIn: false,
          path
        },
        { status }
      )
    }

    const show = Effect.gen(function* () {
      const requested = readQuery(yield* HttpServerRequest.HttpServerRequest).get("callbackUrl")
      const visitor = yield* credentials.findVisitor
      return Option.isSome(visitor) ? redirectPrivately(resolve(requested)) : respond(requested, emptyForm)
    })

    const submit = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const field = yield* readForm(request)
      const [callbackUrl, email] = [field("callbackUrl"), field("email")]
      const [name, referralCode] = [field("name"), field("referralCode")]
      const password = Redacted.make(field("password"))
      const refuse = (error: Parameters<typeof readAccountProblems>[0]) => {
        const { problems, status } = readAccountProblems(error)
        return Effect.succeed(respond(callbackUrl, { values: { email, name, referralCode }, problems }, status))
      }
      const openSession = Effect.gen(function* () {
        yield* signInLimit
        const address = yield* currentAddressKey
        const { token, user } = yield* signIn.signIn({
          email,
          password,
          address,
          current: cookie.read(request)
        })
        yield* (yield* Caller).identify(user.id)
        return cookie.set(redirectPrivately(resolve(callbackUrl)), token)
      }).pipe(
        // The account exists, so the sign-in page continues.
        Effect.catchAll(() =>
          Effect.succeed(redirectPrivately(`${pagePaths.login}?${makeCallbackQuery(resolve(callbackUrl))}`))
        )
      )
      return yield* registration.register({ email, password, name, referralCode }).pipe(
        Effect.zipRight(openSession),
        Effect.catchTags({
          AccountFieldsInvalid: refuse,
          DisplayNameInvalid: refuse,
          EmailAlreadyTaken: refuse,
          EmailInvalid: refuse,
          PasswordRejected: refuse,
          ReferralCodeInvalid: refuse
        })
      )
    })

    yield* router.add("GET", path, show)
    yield* router.add("POST", path, guardForm(limit, bots, submit))
  })
)
