import { BillingSettings, findCreditPrices } from "@berth/domain/billing/BillingSettings"
import { OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { HttpLayerRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import * as AssetsHttp from "./AssetsHttp.ts"
import { makeFront } from "./InstanceFront.ts"
import * as ForgotPasswordHttp from "./ForgotPasswordHttp.ts"
import * as InstancePagesHttp from "./InstancePagesHttp.ts"
import { makePageResponse, PageSettings } from "./Layout.ts"
import { renderLoginPage } from "./LoginPage.ts"
import { PageAssets } from "./PageAssets.ts"
import { pagePaths } from "./PagePaths.ts"
import { renderPricingPage } from "./PricingPage.ts"
import * as ResetPasswordHttp from "./ResetPasswordHttp.ts"
import { listProviders, makeCallbackQuery } from "./SignInSections.ts"
import * as SignupHttp from "./SignupHttp.ts"
import * as UndoEmailChangeHttp from "./UndoEmailChangeHttp.ts"

export const pageRoutes = [
  ...[pagePaths.front, pagePaths.login, pagePaths.pricing].map((path) => makePlainRoute("GET", path)),
  ...SignupHttp.signupRoutes,
  ...ForgotPasswordHttp.forgotPasswordRoutes,
  ...ResetPasswordHttp.resetPasswordRoutes,
  ...UndoEmailChangeHttp.undoEmailChangeRoutes,
  ...AssetsHttp.assetRoutes
]

/** Serves `/`, `/login` and `/pricing` without authentication. */
const publicPages = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const { salesEmail } = yield* PageSettings
    const assets = yield* PageAssets
    const credentials = yield* RequestCredentials
    const { offersPlansWithoutPayment, prices } = yield* BillingSettings
    const creditPrices = findCreditPrices(prices)
    const providers = listProviders(yield* OAuthProviders)

    const login = Effect.gen(function* () {
      const query = readQuery(yield* HttpServerRequest.HttpServerRequest)
      const callbackUrl = resolveCallbackPath(query.get("callbackUrl") ?? undefined, appUrl)
      const error = query.get("error")
      const notice = query.get("notice")
      const has = Option.isSome(yield* credentials.findVisitor)
      if (has && error === null) return redirectPrivately(callbackUrl)
      const signupUrl = query.has("callbackUrl")
        ? `${pagePaths.signup}?${makeCallbackQuery(callbackUrl)}`
        : pagePaths.signup
      const main = renderLoginPage({ appUrl, callbackUrl, error, notice, providers, signupUrl })
      return makePageResponse(assets, {
        title: "Sign in",
        main,
        script: "login.js",
        isSignedIn: has,
        path: pagePaths.login
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
    yield* router.add("GET", pagePaths.pricing, pricing)
  })
)

/** Serves the pages and their assets. */
export const layer = Layer.mergeAll(
  publicPages,
  SignupHttp.layer,
  ForgotPasswordHttp.layer,
  InstancePagesHttp.layer,
  ResetPasswordHttp.layer,
  UndoEmailChangeHttp.layer,
  AssetsHttp.layer
)
