import { RouteNotFound, RouteNotFoundBody } from "@berth/api/http/TransportErrors"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { HttpLayerRouter, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { makeConsoleAssetResponse } from "./ConsoleAssetResponse.ts"
import { ConsoleAssets, consoleAssetsPath } from "./ConsoleAssets.ts"
import { html } from "./Html.ts"
import { PageSettings } from "./Layout.ts"
import { makeSignedInPages } from "./SignedInPages.ts"

/** Addresses that the console routes in the browser. `/dashboard/agents/:id/verification` is a page of its own. */
const consolePaths = [
  "/dashboard/agents",
  "/dashboard/agents/:id",
  "/dashboard/agents/:id/:tab",
  "/dashboard/usage",
  "/dashboard/settings",
  "/dashboard/settings/:section",
  "/dashboard/administration",
  "/dashboard/administration/:section"
] as const

const assetPath = `${consoleAssetsPath}/:name` as const

export const consoleRoutes = [...consolePaths, assetPath].map((path) => makePlainRoute("GET", path))

/** Style elements that the components create carry the nonce. Nothing else is inline. */
const makePolicy = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; ")

/** The console: one document for its addresses, and its files. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const administrators = yield* Administrators
    const assets = yield* ConsoleAssets
    const { models } = yield* AgentSettings
    const { repliesFromSandbox } = yield* PageSettings
    const signedIn = yield* makeSignedInPages
    const tokens = yield* Tokens

    const document = signedIn((user) =>
      Effect.map(tokens.make, (token) => {
        const nonce = Redacted.value(token)
        const settings = JSON.stringify({
          nonce,
          userId: user.id,
          models,
          repliesFromSandbox,
          isAdministrator: administrators.includes(user)
        })
        const page = html`<!doctype html>
          <html lang="en">
            <head>
              <meta charset="utf-8" />
              <meta name="viewport" content="width=device-width, initial-scale=1" />
              <meta name="color-scheme" content="light dark" />
              <meta name="berth-console" content="${settings}" />
              <title>Berth</title>
              <link rel="icon" href="data:," />
              <link rel="stylesheet" href="${consoleAssetsPath}/${assets.style}" />
              <script type="module" src="${consoleAssetsPath}/${assets.script}"></script>
            </head>
            <body>
              <div id="root"></div>
              <noscript>The console needs JavaScript. The <a href="/docs">API</a> offers the same.</noscript>
            </body>
          </html> `
        return HttpServerResponse.text(page.markup.trim(), {
          contentType: "text/html; charset=utf-8",
          headers: {
            "content-security-policy": makePolicy(nonce),
            "cache-control": "no-store",
            "cross-origin-opener-policy": "same-origin-allow-popups"
          }
        })
      })
    )

    for (const path of consolePaths) yield* router.add("GET", path, document)
    yield* router.add(
      "GET",
      assetPath,
      Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const { params } = yield* HttpRouter.RouteContext
        return Option.match(assets.find(params["name"] ?? ""), {
          onNone: () => makeErrorResponse(RouteNotFoundBody, new RouteNotFound()),
          onSome: (asset) => makeConsoleAssetResponse(asset, headers["accept-encoding"])
        })
      })
    )
  })
)
