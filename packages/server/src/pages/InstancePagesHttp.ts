import { RouteNotFound, RouteNotFoundBody } from "@berth/api/http/TransportErrors"
import { InstanceSignIn } from "@berth/domain/instances/InstanceSignIn"
import { HttpLayerRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Option, Redacted } from "effect"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { InstanceHost } from "../http/InstanceHost.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { makeInstanceCookie, makeTicketCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import { unauthorized } from "./InstanceFront.ts"
import { makeOpeningResponse } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { instancePath, pagePaths } from "./PagePaths.ts"
import { makeCallbackQuery } from "./SignInSections.ts"

const ticketPath = "/sign-in"

/** Route of the web API that redirects to a subdomain. */
export const instanceTicketRoutes = [makePlainRoute("GET", instancePath)]

export const instancePageRoutes = [
  { ...makePlainRoute("GET", pagePaths.front), scope: "agents" as const },
  makePlainRoute("GET", ticketPath)
]

/** Transfers a session from the web API to the subdomain of the user's instance. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { agentsDomain, appUrl } = yield* WebSettings
    const assets = yield* PageAssets
    const credentials = yield* RequestCredentials
    const signIn = yield* InstanceSignIn
    const cookie = makeInstanceCookie(appUrl)
    const ticketCookie = makeTicketCookie(appUrl)

    const notFound = makeErrorResponse(RouteNotFoundBody, new RouteNotFound())

    const issue = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const found = yield* Effect.orElseSucceed(credentials.findSession, () => Option.none())
      if (Option.isNone(found))
        return redirectPrivately(`${pagePaths.login}?${makeCallbackQuery(resolveCallbackPath(request.url, appUrl))}`)
      const { session, user } = found.value
      const query = readQuery(request)
      const [subdomain, browser] = [query.get("subdomain") ?? "", query.get("browser") ?? ""]
      const ticket = yield* signIn.issueTicket({ userId: user.id, sessionId: session.id }, subdomain, browser)
      const target = new URL(ticketPath, makeInstanceUrl(subdomain, agentsDomain, appUrl))
      target.searchParams.set("ticket", Redacted.value(ticket))
      return makeOpeningResponse(assets, "your instance", target)
    }).pipe(Effect.catchTag("InstanceNotFound", () => Effect.succeed(notFound)))

    const redeem = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const site = yield* InstanceHost
      const ticket = Option.map(Option.fromNullable(readQuery(request).get("ticket")), Redacted.make)
      const secret = ticketCookie.read(request)
      if (Option.isNone(site) || Option.isNone(ticket) || Option.isNone(secret)) return unauthorized
      return Option.match(yield* signIn.redeemTicket(site.value.subdomain, ticket.value, secret.value), {
        onNone: () => unauthorized,
        onSome: (value) => ticketCookie.clear(cookie.set(redirectPrivately(pagePaths.front), value))
      })
    })

    yield* router.add("GET", instancePath, issue)
    yield* router.add("GET", ticketPath, redeem)
  })
)
