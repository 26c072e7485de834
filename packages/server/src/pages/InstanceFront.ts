import { InstanceOverview } from "@berth/api/instances/InstancesApi"
import { ScopeMissingBody } from "@berth/api/sessions/RequiredScope"
import { AuthenticationRequiredBody } from "@berth/api/sessions/SessionAuth"
import { Agents } from "@berth/domain/agents/Agents"
import { Instances } from "@berth/domain/instances/Instances"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import { makeAgentWebSocketUrl, makeInstanceUrl } from "../agents/AgentUrls.ts"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { InstanceHost, type InstanceSite } from "../http/InstanceHost.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makeTicketCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { frontPage } from "./FrontPage.ts"
import { prefersHtml } from "./HtmlPreference.ts"
import { renderInstancePage } from "./InstancePage.ts"
import { makePageResponse } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { instancePath, pagePaths } from "./PagePaths.ts"

const encodeOverview = Schema.encodeSync(InstanceOverview)
export const unauthorized = makeErrorResponse(AuthenticationRequiredBody, new AuthenticationRequired())

/** `/` of an instance's subdomain: a page for browsers, JSON for programs. */
const makeInstanceFront = Effect.gen(function* () {
  const { agentsDomain, appUrl } = yield* WebSettings
  const assets = yield* PageAssets
  const agents = yield* Agents
  const credentials = yield* RequestCredentials
  const digests = yield* Digests
  const instances = yield* Instances
  const tokens = yield* Tokens
  const ticketCookie = makeTicketCookie(appUrl)

  /** Redirects the browser to the web API for a ticket, whether or not the instance exists. */
  const requestTicket = ({ subdomain }: InstanceSite) =>
    Effect.map(tokens.make, (secret) => {
      const query = new URLSearchParams({ subdomain, browser: hashSecret(digests, secret) })
      return ticketCookie.set(redirectPrivately(new URL(`${instancePath}?${query.toString()}`, appUrl).href), secret)
    })

  return (site: InstanceSite) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { user } = yield* credentials.require
      const instance = yield* instances.find(user.id)
      const owned = yield* agents.list(user.id)
      if (!prefersHtml(request.headers["accept"]))
        return HttpServerResponse.unsafeJson(
          encodeOverview({
            userId: user.id,
            status: instance.status,
            startedAt: instance.startedAt,
            subdomain: instance.subdomain,
            url: makeInstanceUrl(instance.subdomain, agentsDomain, appUrl),
            plan: user.plan,
            runtimeVersion: instance.runtimeVersion,
            agents: owned.map(({ createdAt, id, model, name, status, updatedAt }) => ({
              id,
              name,
              model,
              status,
              websocketUrl: makeAgentWebSocketUrl(id, site.origin),
              createdAt,
              updatedAt
            }))
          })
        )
      const main = renderInstancePage({ instance, agents: owned, appUrl })
      return makePageResponse(assets, { title: "Instance", main, isSignedIn: true, appUrl })
    }).pipe(
      Effect.catchTags({
        AuthenticationRequired: () =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
            headers["authorization"] === undefined && prefersHtml(headers["accept"])
              ? requestTicket(site)
              : Effect.succeed(unauthorized)
          ),
        ScopeMissing: (error) => Effect.succeed(makeErrorResponse(ScopeMissingBody, error)),
        // The owner was deleted concurrently.
        InstanceNotFound: () => Effect.succeed(unauthorized)
      })
    )
})

/** `/` by host: the front page of the web API, or an instance's front. */
export const makeFront = Effect.gen(function* () {
  const assets = yield* PageAssets
  const credentials = yield* RequestCredentials
  const instanceFront = yield* makeInstanceFront
  const front = Effect.map(credentials.findVisitor, (visitor) =>
    Option.isSome(visitor)
      ? redirectPrivately(pagePaths.dashboard)
      : makePageResponse(assets, { title: "Hosting for AI agents", main: frontPage, isSignedIn: false })
  )
  return Effect.gen(function* () {
    const site = yield* InstanceHost
    return yield* Option.isSome(site) ? instanceFront(site.value) : front
  })
})
