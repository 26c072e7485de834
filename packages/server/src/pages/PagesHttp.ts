import { BillingSettings, findCreditPrices } from "@berth/domain/billing/BillingSettings"
import { OAuthProviderName, OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { HttpLayerRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import * as AssetsHttp from "./AssetsHttp.ts"
import { makeFront } from "./InstanceFront.ts"
import * as InstancePagesHttp from "./InstancePagesHttp.ts"
import { makePageResponse, PageSettings } from "./Layout.ts"
import { renderLoginPage } from "./LoginPage.ts"
import { PageAssets } from "./PageAssets.ts"
import { pagePaths } from "./PagePaths.ts"
import { renderPricingPage } from "./PricingPage.ts"
import * as ResetPasswordHttp from "./ResetPasswordHttp.ts"
import { makeCallbackQuery } from "./SignInSections.ts"
import { renderSignupPage } from "./SignupPage.ts"
import * as UndoEmailChangeHttp from "./UndoEmailChangeHttp.ts"

export const pageRoutes = [
  ...[pagePaths.front, pagePaths.login, pagePaths.signup, pagePaths.pricing].map((path) => makePlainRoute("GET", path)),
  ...ResetPasswordHttp.resetPasswordRoutes,
  ...UndoEmailChangeHttp.undoEmailChangeRoutes,
  ...AssetsHttp.assetRoutes
]

/** `/`, `/login`, `/signup` and `/pricing`, for everyone. */
const publicPages = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const { administratorHint, salesEmail } = yield* PageSettings
    const assets = yield* PageAssets
    const credentials = yield* RequestCredentials
    const { offersPlansWithoutPayment, prices } = yield* BillingSettings
    const creditPrices = findCreditPrices(prices)
    const configured = yield* OAuthProviders
    const providers = OAuthProviderName.literals.filter((name) => Option.isSome(configured[name]))

    const isSignedIn = Effect.map(credentials.findVisitor, Option.isSome)

    /** The address of a page with the requested redirect target, if there is one. */
    const withCallback = (path: string, query: URLSearchParams) => {
      const requested = query.get("callbackUrl")
      return requested === null ? path : `${path}?${makeCallbackQuery(resolveCallbackPath(requested, appUrl))}`
    }

    const login = Effect.gen(function* () {
      const query = readQuery(yield* HttpServerRequest.HttpServerRequest)
      const callbackUrl = resolveCallbackPath(query.get("callbackUrl") ?? undefined, appUrl)
      const error = query.get("error")
      const notice = query.get("notice")
      const has = yield* isSignedIn
      if (has && error === null) return redirectPrivately(callbackUrl)
      const signupUrl = withCallback(pagePaths.signup, query)
      const main = renderLoginPage({ appUrl, callbackUrl, error, notice, providers, signupUrl })
      return makePageResponse(assets, {
        title: "Sign in",
        main,
        script: "login.js",
        isSignedIn: has,
        path: pagePaths.login
      })
    })

    const signup = Effect.gen(function* () {
      const query = readQuery(yield* HttpServerRequest.HttpServerRequest)
      const callbackUrl = resolveCallbackPath(query.get("callbackUrl") ?? pagePaths.onboarding, appUrl)
      if (yield* isSignedIn) return redirectPrivately(callbackUrl)
      const loginUrl = withCallback(pagePaths.login, query)
      return makePageResponse(assets, {
        title: "Create an account",
        main: renderSignupPage({ appUrl, callbackUrl, providers, loginUrl, administratorHint }),
        script: "signup.js",
        isSignedIn: false,
        path: pagePaths.signup
      })
    })

    const pricing = Effect.gen(function* () {
      const query = readQuery(yield* HttpServerRequest.HttpServerRequest)
      const found = yield* credentials.findVisitor
      const main = renderPricingPage({
        error: query.get("error"),
        salesEmail,
        creditPrices,
        offersPlansWithoutPayment,
        currentPlan: Option.getOrNull(Option.map(found, ({ plan }) => plan))
      })
      return makePageResponse(assets, {
        title: "Pricing",
        main,
        isSignedIn: Option.isSome(found),
        path: pagePaths.pricing
      })
    })

    yield* router.add("GET", pagePaths.front, yield* makeFront)
    yield* router.add("GET", pagePaths.login, login)
    yield* router.add("GET", pagePaths.signup, signup)
    yield* router.add("GET", pagePaths.pricing, pricing)
  })
)

/** The pages and their assets. */
export const layer = Layer.mergeAll(
  publicPages,
  InstancePagesHttp.layer,
  ResetPasswordHttp.layer,
  UndoEmailChangeHttp.layer,
  AssetsHttp.layer
)
