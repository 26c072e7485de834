import { RouteNotFound, RouteNotFoundBody } from "@berth/api/http/TransportErrors"
import { CheckoutLinks } from "@berth/domain/billing/checkout/CheckoutLinks"
import { HttpLayerRouter, HttpRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeConsoleAssetResponse } from "./ConsoleAssetResponse.ts"
import { ConsoleAssets, consoleAssetsPath } from "./ConsoleAssets.ts"
import { makeConsoleDocument } from "./ConsoleDocument.ts"
import { makeOpeningResponse } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { pagePaths } from "./PagePaths.ts"
import { makeSignedInPages } from "./SignedInPages.ts"

/** Addresses routed in the browser by the console. */
const consolePaths = [
  pagePaths.dashboard,
  pagePaths.files,
  pagePaths.onboarding,
  "/dashboard/agents",
  "/dashboard/agents/:id",
  "/dashboard/agents/:id/:tab",
  pagePaths.plans,
  "/dashboard/usage",
  "/dashboard/settings",
  "/dashboard/settings/:section",
  "/dashboard/administration",
  "/dashboard/administration/:section"
] as const

const assetPath = `${consoleAssetsPath}/:name` as const

export const consoleRoutes = [
  ...[...consolePaths, assetPath].map((path) => makePlainRoute("GET", path)),
  makePlainRoute("POST", pagePaths.files)
]

/** Serves the console: one document for its addresses, the form of its plain pages, and its files. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const assets = yield* ConsoleAssets
    const links = yield* CheckoutLinks
    const pageAssets = yield* PageAssets
    const signedIn = yield* makeSignedInPages
    const respond = yield* makeConsoleDocument

    const document = signedIn((user, query) =>
      Effect.gen(function* () {
        const { url } = yield* HttpServerRequest.HttpServerRequest
        const { params } = yield* HttpRouter.RouteContext
        const [path = ""] = url.split("?", 1)
        return yield* respond(user, { path, query, agentId: params["id"] ?? query.get("agent") })
      })
    )

    /** The checkout of the storage upgrade, without scripts. */
    const openStorage = signedIn((user) =>
      Effect.map(links.leadToStorage(user), (url) =>
        url.origin === appUrl.origin
          ? redirectPrivately(`${url.pathname}${url.search}`)
          : makeOpeningResponse(pageAssets, "the checkout", url)
      )
    )

    yield* router.add("POST", pagePaths.files, openStorage)
    for (const path of consolePaths) yield* router.add("GET", path, document)
    yield* router.add(
      "GET",
      assetPath,
      Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const { params } = yield* HttpRouter.RouteContext
        return Option.match(assets.find(params["name"] ?? ""), {
          onNone: () => makeErrorResponse(RouteNotFoundBody, new RouteNotFound()),
          onSome: (asset) => makeConsoleAssetResponse(asset, headers)
        })
      })
    )
  })
)
