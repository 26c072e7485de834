import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { WebApi } from "@berth/api/WebApi"
import { type KnownRoute, makePlainRoute, listRoutes } from "@berth/server/http/RouteTable"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"

const unsafe = new Set(["POST", "PUT", "PATCH", "DELETE"])
const all = listRoutes(WebApi)
/** Forbidden to pages of another origin despite a session: changes, and opening a socket. */
const guarded = [...all.filter(({ method }) => unsafe.has(method)), makePlainRoute("GET", "/agents/:id/ws")]
const readable = all.filter(({ crossOrigin, method }) => method === "GET" && crossOrigin === null)

const nameOf = ({ method, path }: KnownRoute) => `${method} ${path}`

const call = (route: KnownRoute, origin: string | undefined, as?: App.SignedIn) =>
  App.web({
    method: route.method,
    path: route.path.replace(/:\w+/g, "x"),
    headers: origin === undefined ? {} : { origin },
    ...(as === undefined ? {} : { as })
  })

interface Site {
  readonly name: string
  readonly appUrl: (port: number) => string
  readonly own: (port: number) => ReadonlyArray<string | undefined>
  readonly foreign: (port: number) => ReadonlyArray<string>
}

const strange = ["null", "", "https://evil.example", "chrome-extension://abcdef", "file://", "evil.example", "*"]

const sites: ReadonlyArray<Site> = [
  {
    name: "https://berth.example",
    appUrl: () => "https://berth.example",
    own: () => [undefined, "https://berth.example", "https://berth.example:443", "HTTPS://BERTH.EXAMPLE"],
    foreign: () => [
      ...strange,
      "http://berth.example",
      "https://berth.example:8443",
      "https://example",
      "https://www.berth.example",
      "https://usr.agents.berth.example",
      "https://berth.example.evil.example",
      "https://evil-berth.example",
      "https://berth.example, https://evil.example",
      "https://localhost",
      "https://127.0.0.1"
    ]
  },
  {
    name: "http://localhost",
    appUrl: (port) => `http://localhost:${port}`,
    own: (port) => [undefined, ...["localhost", "127.0.0.1", "[::1]"].map((host) => `http://${host}:${port}`)],
    foreign: (port) => [
      ...strange,
      `http://localhost:${port + 1}`,
      "http://localhost",
      `https://localhost:${port}`,
      `http://usr.agents.localhost:${port}`,
      `http://localhost.evil.example:${port}`,
      `http://127.0.0.2:${port}`,
      `http://0.0.0.0:${port}`
    ]
  },
  {
    name: "http://127.0.0.1",
    appUrl: (port) => `http://127.0.0.1:${port}`,
    own: (port) => [undefined, ...["localhost", "127.0.0.1", "[::1]"].map((host) => `http://${host}:${port}`)],
    foreign: (port) => [...strange, `http://127.0.0.1:${port + 1}`, `http://usr.agents.localhost:${port}`]
  }
]

// The public port can differ from the listener's.
const port = 4_711

/** A route of the pipeline and the socket, which decides itself: the decision is independent of the route. */
const samples = ["DELETE /api/settings", "GET /agents/:id/ws"]
const isSample = (route: KnownRoute) => samples.includes(nameOf(route))
/** The samples check every origin of every site, the other routes only those that a route can except. */
const routesOf = (site: Site) => (site === sites[0] ? guarded : guarded.filter(isSample))
const foreignTo = (site: Site, route: KnownRoute) =>
  isSample(route) ? site.foreign(port) : ["https://evil.example", "null"]
const ownOf = (site: Site, route: KnownRoute) => (isSample(route) ? site.own(port) : [undefined, site.appUrl(port)])

class Visitor extends Context.Tag("Visitor")<Visitor, App.SignedIn>() {}

const visitor = Layer.effect(Visitor, App.signInNewUser())
const appOf = (site: Site) => App.layer({ appUrl: site.appUrl(port), sendsSpans: false })

for (const site of sites)
  layer(Layer.provideMerge(visitor, appOf(site)), {
    excludeTestServices: true
  })(`A request to ${site.name} from a page`, (it) => {
    it("A request of another site is rejected at every route that changes state", () => {
      assert.isAtLeast(guarded.length, 20)
      assert.includeMembers(guarded.map(nameOf), [
        "POST /api/register",
        "POST /api/auth/callback/credentials",
        "POST /api/auth/signout",
        "DELETE /api/auth/sessions/:id",
        ...samples
      ])
    })

    for (const route of routesOf(site)) {
      it.effect(`${nameOf(route)} rejects every other origin`, () =>
        Effect.gen(function* () {
          const visitor = yield* Visitor
          const refuse = (origin: string, as?: App.SignedIn) =>
            Effect.map(call(route, origin, as), (answer) => {
              assertError(answer, { status: 403, code: "origin_not_allowed" })
              assert.notProperty(answer.headers, "set-cookie", origin)
              assert.notProperty(answer.headers, "access-control-allow-origin", origin)
            })
          yield* Effect.forEach(foreignTo(site, route), (origin) => refuse(origin, visitor), {
            concurrency: 8,
            discard: true
          })
          // Other origins may pay by machine payment, without a session.
          if (route.path !== gatewayPath) yield* refuse("https://evil.example")
        })
      )

      it.effect(`${nameOf(route)} accepts a page of the service, and a call without a page`, () =>
        Effect.gen(function* () {
          for (const origin of ownOf(site, route)) {
            const answer = yield* call(route, origin)
            assert.notStrictEqual(answer.body["code"], "origin_not_allowed", String(origin))
            // The stream key of the path is unknown.
            const isOfStream = answer.body["code"] === "live_stream_not_found"
            assert.isTrue(answer.status !== 404 || isOfStream, String(origin))
          }
        })
      )
    }

    it.effect("A request of another site may read public data, without CORS headers", () =>
      Effect.gen(function* () {
        for (const route of readable) {
          const answer = yield* call(route, "https://evil.example")
          assert.notStrictEqual(answer.body["code"], "origin_not_allowed", nameOf(route))
          assert.notProperty(answer.headers, "access-control-allow-origin", nameOf(route))
          assert.notProperty(answer.headers, "access-control-allow-credentials", nameOf(route))
        }
      })
    )
  })
