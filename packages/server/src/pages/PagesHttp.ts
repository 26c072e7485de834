import type { User } from "@berth/domain/shared/User"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { Agents } from "@berth/domain/agents/Agents"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { BillingSettings, findCreditPrices } from "@berth/domain/billing/BillingSettings"
import { StorageEntitlements } from "@berth/domain/billing/storage/StorageEntitlements"
import { ClaimNotices } from "@berth/domain/recovery/claims/ClaimNotices"
import { OAuthProviderName, OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Array, Effect, Layer, Option } from "effect"
import { makePlainRoute } from "../http/RouteTable.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { RequestSession } from "../sessions/RequestSession.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import * as AssetsHttp from "./AssetsHttp.ts"
import { renderDashboardPage } from "./DashboardPage.ts"
import { renderFilesPage } from "./FilesPage.ts"
import { makeCallbackQuery, renderLoginPage } from "./LoginPage.ts"
import { renderOnboardingPage } from "./OnboardingPage.ts"
import { PageAssets } from "./PageAssets.ts"
import { makePageResponse, PageSettings } from "./Layout.ts"
import { renderPricingPage } from "./PricingPage.ts"
import * as ResetPasswordHttp from "./ResetPasswordHttp.ts"
import * as UndoEmailChangeHttp from "./UndoEmailChangeHttp.ts"

const paths = {
  front: "/",
  login: "/login",
  dashboard: "/dashboard",
  files: "/dashboard/files",
  onboarding: "/onboarding",
  pricing: "/pricing"
} as const

export const pageRoutes = [
  ...Object.values(paths).map((path) => makePlainRoute("GET", path)),
  ...ResetPasswordHttp.resetPasswordRoutes,
  ...UndoEmailChangeHttp.undoEmailChangeRoutes,
  ...AssetsHttp.assetRoutes
]

const pages = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const { salesEmail } = yield* PageSettings
    const assets = yield* PageAssets
    const session = yield* RequestSession
    const agents = yield* Agents
    const allowances = yield* Allowances
    const wallets = yield* Wallets
    const claims = yield* ClaimNotices
    const storage = yield* StorageEntitlements
    const { prices } = yield* BillingSettings
    const creditPrices = findCreditPrices(prices)
    const { models } = yield* AgentSettings
    const configured = yield* OAuthProviders
    const providers = OAuthProviderName.literals.filter((name) => Option.isSome(configured[name]))

    const signedIn = Effect.map(
      session.find,
      Option.map(({ user }) => user)
    )

    /** A page that requires a session: redirects to the sign-in and back. */
    const own = <E, R>(
      answer: (user: User, query: URLSearchParams) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        return yield* Option.match(yield* signedIn, {
          onNone: () =>
            Effect.succeed(
              redirectPrivately(`${paths.login}?${makeCallbackQuery(resolveCallbackPath(request.url, appUrl))}`)
            ),
          onSome: (user) => answer(user, readQuery(request))
        })
      })

    const front = Effect.map(signedIn, (user) => redirectPrivately(Option.isSome(user) ? paths.dashboard : paths.login))

    const login = Effect.gen(function* () {
      const query = readQuery(yield* HttpServerRequest.HttpServerRequest)
      const callbackUrl = resolveCallbackPath(query.get("callbackUrl") ?? undefined, appUrl)
      const error = query.get("error")
      const notice = query.get("notice")
      const isSignedIn = Option.isSome(yield* signedIn)
      if (isSignedIn && error === null) return redirectPrivately(callbackUrl)
      const main = renderLoginPage({ appUrl, callbackUrl, error, notice, providers })
      return makePageResponse(assets, { title: "Sign in", main, script: "login.js", isSignedIn, path: paths.login })
    })

    const dashboard = own((user, query) =>
      Effect.gen(function* () {
        const owned = yield* agents.list(user.id)
        const main = renderDashboardPage({
          user,
          allowance: yield* allowances.find(user),
          agents: owned,
          chosen: Array.findFirst(owned, ({ id }) => id === query.get("agent")),
          isClaimOpen: Option.isSome(yield* claims.find(user.id)),
          wallets: yield* wallets.listByUser(user.id),
          models,
          appUrl,
          error: query.get("error"),
          notice: query.get("notice")
        })
        return makePageResponse(assets, {
          title: "Dashboard",
          main,
          script: "dashboard.js",
          isSignedIn: true,
          path: paths.dashboard
        })
      })
    )

    const files = own((user, query) =>
      Effect.map(Effect.all([allowances.find(user), storage.find(user.id)]), ([{ storageMb }, tier]) =>
        makePageResponse(assets, {
          title: "Files",
          main: renderFilesPage({
            storageMb,
            tier,
            plan: user.plan,
            hasPaid: query.get("checkout") === "done",
            error: query.get("error")
          }),
          script: "files.js",
          isSignedIn: true,
          path: paths.files
        })
      )
    )

    const onboarding = own((user, query) =>
      Effect.gen(function* () {
        const hasPaid = query.get("checkout") === "done"
        const { mayProvision } = yield* allowances.find(user)
        const { length: agentCount } = yield* agents.list(user.id)
        const page = makePageResponse(assets, {
          title: "Your first agent",
          main: renderOnboardingPage({ mayProvision, models, agentCount, hasPaid }),
          script: "onboarding.js",
          isSignedIn: true,
          path: paths.onboarding
        })
        return hasPaid && !mayProvision ? HttpServerResponse.setHeader(page, "refresh", "3") : page
      })
    )

    const pricing = Effect.gen(function* () {
      const query = readQuery(yield* HttpServerRequest.HttpServerRequest)
      const isSignedIn = Option.isSome(yield* signedIn)
      const main = renderPricingPage({ error: query.get("error"), salesEmail, creditPrices })
      return makePageResponse(assets, { title: "Pricing", main, isSignedIn, path: paths.pricing })
    })

    yield* router.add("GET", paths.front, front)
    yield* router.add("GET", paths.login, login)
    yield* router.add("GET", paths.dashboard, dashboard)
    yield* router.add("GET", paths.files, files)
    yield* router.add("GET", paths.onboarding, onboarding)
    yield* router.add("GET", paths.pricing, pricing)
  })
)

/** The pages and their assets. */
export const layer = Layer.mergeAll(pages, ResetPasswordHttp.layer, UndoEmailChangeHttp.layer, AssetsHttp.layer)
