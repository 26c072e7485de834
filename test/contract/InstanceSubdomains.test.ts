import { WebApi } from "@berth/api/WebApi"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { listRoutes } from "@berth/server/http/RouteTable"
import { instanceTable } from "@berth/server/WebListener"
import type { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { parseRawResponse, sendBytes } from "../support/RawHttp.ts"
import { connectSocket, readSocketRefusal } from "../support/SocketClient.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { bearer, createApiKey, revokeApiKey } from "./ApiKeyFixtures.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

const domain = "agents.localhost"
const hostOf = ({ user }: App.SignedIn) => `${makeSubdomain(user.id)}.${domain}`

const at = (
  host: string,
  call: Omit<App.AppCall, "headers"> & { readonly headers?: Readonly<Record<string, string>> }
) =>
  Effect.flatMap(App.TestApp, ({ appUrl, web }) =>
    web({ ...call, headers: { ...call.headers, host: `${host}:${appUrl.port}` } })
  )

const tokenOf = ({ user }: App.SignedIn) =>
  Effect.flatMap(InstanceRepository, ({ ensureGatewayToken }) =>
    Effect.map(ensureGatewayToken(user.id), (token) => bearer(Redacted.value(token)))
  )

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }
const cookiesOf = ({ headers }: HttpCallResponse) =>
  (headers["set-cookie"] ?? []).map((cookie) => cookie.split(";")[0] ?? "").filter((cookie) => !cookie.endsWith("="))

const locationOf = ({ headers }: HttpCallResponse) => new URL(headers.location ?? "", "http://none.example")

/** Follows the redirects of a browser with a session from the subdomain to the web API and back. */
const openInBrowser = (owner: App.SignedIn, host = hostOf(owner)) =>
  Effect.gen(function* () {
    const first = yield* at(host, { method: "GET", path: "/", headers: html })
    assert.strictEqual(first.status, 302, first.text)
    const requested = locationOf(first)
    const issued = yield* App.web({
      method: "GET",
      path: `${requested.pathname}${requested.search}`,
      headers: { ...html, cookie: owner.cookie }
    })
    assert.strictEqual(issued.status, 200, issued.text)
    const ticket = new URL(String(issued.headers["refresh"]).replace("0;url=", ""))
    const redeem = (cookie: string, atHost = host) =>
      at(atHost, { method: "GET", path: `${ticket.pathname}${ticket.search}`, headers: { ...html, cookie } })
    return { first, requested, issued, ticket, browser: cookiesOf(first).join("; "), redeem }
  })

const signInAtInstance = (owner: App.SignedIn) =>
  Effect.gen(function* () {
    const { browser, redeem } = yield* openInBrowser(owner)
    return { cookie: cookiesOf(yield* redeem(browser)).join("; ") }
  })

const seen = (answer: HttpCallResponse) => {
  const { date: _date, "x-request-id": _id, ...headers } = answer.headers
  return JSON.stringify([answer.status, headers, withoutTraceId(answer)])
}

type Credential = (who: App.SignedIn) => Effect.Effect<Readonly<Record<string, string>>, unknown, Requirements>
type Requirements = App.TestApp | InstanceRepository

const credentials: Readonly<Record<string, Credential>> = {
  "the gateway token": tokenOf,
  "an API key": (who) => Effect.map(createApiKey(who, "agents", "chat"), ({ headers }) => headers),
  "the session": (who) => Effect.succeed({ cookie: who.cookie }),
  "the cookie of the subdomain": signInAtInstance
}

const calls = [
  { method: "GET", path: "/" },
  { method: "GET", path: "/api/agent?action=health" },
  { method: "POST", path: "/api/agent", json: { message: "hello" } },
  { method: "GET", path: "/api/chat" }
] as const

layer(App.layer({ agentManagerTransport: "remote" }), { excludeTestServices: true })("A subdomain", (it) => {
  for (const [name, credentialOf] of Object.entries(credentials))
    it.effect(`A subdomain accepts ${name} of its owner and rejects that of another user`, () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        const [own, foreign] = [yield* credentialOf(owner), yield* credentialOf(stranger)]
        const hosts = [hostOf(owner), `usr-0.${domain}`, `x.${hostOf(owner)}`, `-.${domain}`, domain]
        for (const call of calls) {
          const accepted = yield* at(hostOf(owner), { ...call, headers: own })
          assert.strictEqual(accepted.status, 200, `${call.path}: ${accepted.text}`)
          assert.strictEqual(accepted.headers["cache-control"], "no-store")
          const refused = yield* at(hosts[0] ?? "", { ...call, headers: foreign })
          assertError(refused, { status: 401, code: "unauthorized" })
          for (const host of hosts.slice(1))
            assert.strictEqual(seen(yield* at(host, { ...call, headers: foreign })), seen(refused), host)
        }
      })
    )

  it.effect("A subdomain rejects missing and unknown credentials alike", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const headers of [{}, bearer("x"), bearer("berth_x"), { cookie: "berth_instance=x" }])
        for (const call of calls) {
          const refused = yield* at(hostOf(owner), { ...call, headers })
          assertError(refused, { status: 401, code: "unauthorized" })
          for (const host of [`usr-0.${domain}`, domain])
            assert.strictEqual(seen(yield* at(host, { ...call, headers })), seen(refused), host)
        }
    })
  )

  it.effect("A subdomain is found in any case, with a trailing dot and with any port", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const headers = yield* tokenOf(owner)
      for (const host of [hostOf(owner).toUpperCase(), `${hostOf(owner)}.`, `${hostOf(owner)}:1`])
        assert.strictEqual(
          (yield* App.web({ method: "GET", path: "/", headers: { ...headers, host } })).status,
          200,
          host
        )
    })
  )

  it.effect("A subdomain describes the instance and its agents to programs", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const { body } = yield* at(hostOf(owner), { method: "GET", path: "/", headers: yield* tokenOf(owner) })
      const origin = `http://${hostOf(owner)}:${appUrl.port}`
      assert.deepInclude(body, { userId: owner.user.id, url: origin, subdomain: makeSubdomain(owner.user.id) })
      const websocketUrl = `${origin.replace("http", "ws")}/agents/${owner.agent.id}/ws`
      assert.include(JSON.stringify(body["agents"]), websocketUrl)
    })
  )

  it.effect("A subdomain serves its own routes only, and the web API serves none of the subdomain's own", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const served = new Set(instanceTable.map(({ method, path }) => `${method} ${path}`))
      for (const { method, path } of listRoutes(WebApi)) {
        if (served.has(`${method} ${path}`)) continue
        const target = path.replace(/:userId/, owner.user.id).replace(/:\w+/g, owner.agent.id)
        const answer = yield* at(hostOf(owner), { method, path: target, as: owner })
        assert.include([404, 405], answer.status, `${method} ${path}: ${answer.text}`)
      }
      for (const path of ["/login", "/dashboard", "/docs", "/openapi.json", "/instance", "/../login", "//", "/%2e%2e/"])
        if (path !== "//")
          assertError(yield* at(hostOf(owner), { method: "GET", path, as: owner }), {
            status: 404,
            code: "route_not_found"
          })
      assertError(yield* App.web({ method: "GET", path: "/sign-in" }), { status: 404, code: "route_not_found" })
    })
  )

  it.effect("A subdomain limits a gateway token to conversations, and an API key to its scopes", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const token = yield* tokenOf(owner)
      const logs = { method: "GET", path: `/api/agents/${owner.agent.id}/logs` }
      assert.strictEqual((yield* at(hostOf(owner), { ...logs, headers: token })).status, 200)
      const json = { action: "set-credential", key: "openai", value: "v" }
      const set = { method: "POST", path: "/api/agent", json, headers: token }
      assertError(yield* at(hostOf(owner), set), { status: 403, code: "scope_missing" })
      const { headers } = yield* createApiKey(owner, "chat")
      assertError(yield* at(hostOf(owner), { ...logs, headers }), { status: 403, code: "scope_missing" })
    })
  )

  it.effect("A subdomain charges a message as the web API does", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const headers = yield* tokenOf(owner)
      const call = { method: "POST", path: "/api/chat", json: { message: "hello" }, headers }
      assert.strictEqual((yield* at(hostOf(owner), call)).body["reply"], "Echo: hello")
      assert.deepStrictEqual(yield* sql`select used::int as used from unit_days where user_id = ${owner.user.id}`, [
        { used: 1 }
      ])
    })
  )

  it.effect("A subdomain accepts state changes from its own pages only, and the web API none from subdomains", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const call = { method: "POST", path: "/api/chat", json: { message: "hello" } }
      const headers = yield* signInAtInstance(owner)
      const originOf = (host: string) => `http://${host}:${appUrl.port}`
      const own = { ...headers, origin: originOf(hostOf(owner)) }
      assert.strictEqual((yield* at(hostOf(owner), { ...call, headers: own })).status, 200)
      for (const origin of [appUrl.origin, originOf(hostOf(stranger)), originOf(domain), "null"]) {
        const refused = yield* at(hostOf(owner), { ...call, headers: { ...headers, origin } })
        assertError(refused, { status: 403, code: "origin_not_allowed" })
      }
      const fromSubdomain = { ...call, as: owner, headers: { origin: originOf(hostOf(owner)) } }
      assertError(yield* App.web(fromSubdomain), { status: 403, code: "origin_not_allowed" })
    })
  )

  it.effect("A subdomain is chosen by the authority of an absolute target, and two Host headers are 400", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const send = (target: string, ...hosts: ReadonlyArray<string>) =>
        Effect.map(
          sendBytes(Number(appUrl.port), [
            `GET ${target} HTTP/1.1\r\n${hosts.map((host) => `Host: ${host}\r\n`).join("")}Connection: close\r\n\r\n`
          ]),
          parseRawResponse
        )
      const [app, own] = [appUrl.host, hostOf(owner)]
      assert.strictEqual((yield* send("/login", app)).status, 200)
      assert.strictEqual((yield* send(`http://${own}/login`, app)).status, 404)
      assert.strictEqual((yield* send(`http://${app}/login`, own)).status, 200)
      assert.strictEqual((yield* send("/", app, own)).status, 400)
      assert.strictEqual((yield* send("/api/chat", own)).status, 401)
    })
  )

  it.effect(
    "A browser with a session is led to the web API and back, and gets a page and a cookie of the subdomain",
    () =>
      Effect.gen(function* () {
        const { appUrl } = yield* App.TestApp
        const owner = yield* createOwnerWithAgent()
        const { requested, browser, first, issued, redeem, ticket } = yield* openInBrowser(owner)
        assert.deepStrictEqual([requested.origin, requested.pathname], [appUrl.origin, "/instance"])
        assert.deepStrictEqual([ticket.hostname, ticket.port], [hostOf(owner), appUrl.port])
        assert.strictEqual(issued.headers["cache-control"], "no-store")
        assert.notInclude(JSON.stringify(issued.headers["set-cookie"] ?? []), "berth_instance")
        const redeemed = yield* redeem(browser)
        assert.deepStrictEqual([redeemed.status, redeemed.headers.location], [302, "/"])
        for (const cookie of [...(first.headers["set-cookie"] ?? []), ...(redeemed.headers["set-cookie"] ?? [])]) {
          assert.match(cookie, /^berth_instance\w*=.*; HttpOnly; SameSite=Lax$/)
          assert.notMatch(cookie, /domain/i)
        }
        const cookie = cookiesOf(redeemed).join("; ")
        const page = yield* at(hostOf(owner), { method: "GET", path: "/", headers: { ...html, cookie } })
        assert.deepStrictEqual([page.status, page.headers["content-type"]], [200, "text/html; charset=utf-8"])
        assert.include(page.text, `/dashboard/agents/${owner.agent.id}/chat"`)
        assert.include(page.headers["content-security-policy"], "default-src 'none'")
        const style = /"(\/assets\/[^"]+)"/.exec(page.text)?.[1] ?? ""
        assert.strictEqual((yield* at(hostOf(owner), { method: "GET", path: style })).status, 200)
      })
  )

  it.effect(
    "A ticket is redeemed once, by the browser and at the subdomain that it is for, while the session lasts",
    () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        const { browser, redeem } = yield* openInBrowser(owner)
        const other = yield* openInBrowser(stranger)
        assert.strictEqual((yield* redeem("")).status, 401)
        assert.strictEqual((yield* redeem(other.browser)).status, 401)
        assert.strictEqual((yield* redeem(browser, hostOf(stranger))).status, 401)
        const redeemed = yield* Effect.replicateEffect(redeem(browser), 4, { concurrency: "unbounded" })
        assert.strictEqual(redeemed.filter(({ status }) => status === 302).length, 1)
        const cookie = redeemed.flatMap(cookiesOf).join("; ")
        const read = (host: string) => at(host, { method: "GET", path: "/api/chat", headers: { cookie } })
        assert.deepStrictEqual(
          [(yield* read(hostOf(owner))).status, (yield* read(hostOf(stranger))).status],
          [200, 401]
        )
        yield* App.web({ method: "POST", path: "/api/auth/signout", as: owner })
        assert.strictEqual((yield* read(hostOf(owner))).status, 401)
      })
  )

  it.effect("A ticket is issued for the subdomain of the user's own instance only, and after a sign-in", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const newcomer = yield* App.signInNewUser()
      const open = (subdomain: string, headers: Readonly<Record<string, string>>) =>
        App.web({
          method: "GET",
          path: `/instance?${new URLSearchParams({ subdomain, browser: "x" }).toString()}`,
          headers
        })
      const known = makeSubdomain(owner.user.id)
      const cookie = { cookie: stranger.cookie }
      const foreign = yield* open(known, cookie)
      assertError(foreign, { status: 404, code: "route_not_found" })
      for (const subdomain of ["usr-0", "", `${known}.evil.example/`, "-"])
        assert.strictEqual(seen(yield* open(subdomain, cookie)), seen(foreign), subdomain)
      assertError(yield* open(known, { cookie: newcomer.cookie }), { status: 404, code: "route_not_found" })
      const key = yield* createApiKey(owner, "agents", "chat")
      for (const headers of [{}, key.headers]) {
        const anonymous = yield* open(known, headers)
        assert.deepStrictEqual([anonymous.status, locationOf(anonymous).pathname], [302, "/login"])
        assert.include(locationOf(anonymous).searchParams.get("callbackUrl") ?? "", known)
      }
    })
  )

  it.scoped("A subdomain opens the WebSocket of its owner's agents, by each credential, from its own pages", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const call = (host: string, agent: OwnerWithAgent, headers: Readonly<Record<string, string>>) => ({
        host: `127.0.0.1:${appUrl.port}`,
        path: `/agents/${agent.agent.id}/ws`,
        headers: { ...headers, host: `${host}:${appUrl.port}` }
      })
      for (const credentialOf of Object.values(credentials)) {
        const [own, foreign] = [yield* credentialOf(owner), yield* credentialOf(stranger)]
        const client = yield* connectSocket(call(hostOf(owner), owner, own))
        yield* client.until((frame) => frame["type"] === "status")
        for (const [host, agent] of [
          [hostOf(owner), owner],
          [hostOf(owner), stranger],
          [`usr-0.${domain}`, stranger]
        ] as const)
          assertError(yield* readSocketRefusal(call(host, agent, foreign)), { status: 401, code: "unauthorized" })
        assertError(yield* readSocketRefusal(call(hostOf(owner), stranger, own)), {
          status: 404,
          code: "agent_not_found"
        })
      }
      for (const host of [hostOf(owner), `usr-0.${domain}`])
        assertError(yield* readSocketRefusal(call(host, owner, {})), { status: 401, code: "unauthorized" })
      const token = yield* tokenOf(owner)
      const evil = call(hostOf(owner), owner, { ...token, origin: appUrl.origin })
      assertError(yield* readSocketRefusal(evil), { status: 403, code: "origin_not_allowed" })
      const query = {
        ...call(hostOf(owner), owner, {}),
        path: `/agents/${owner.agent.id}/ws?token=${token.authorization.slice(7)}`
      }
      yield* connectSocket(query)
    })
  )

  const endings: Readonly<
    Record<string, (owner: OwnerWithAgent) => Effect.Effect<unknown, unknown, Requirements | SqlClient>>
  > = {
    "its gateway token is replaced": ({ user }) =>
      Effect.flatMap(InstanceRepository, ({ revokeGatewayToken }) => revokeGatewayToken(user.id)),
    "the owner is suspended": ({ user }) => sql`update users set suspended_at = now() where id = ${user.id}`
  }
  for (const [ending, end] of Object.entries(endings))
    it.scoped(`A stream and a socket at a subdomain end when ${ending}`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const headers = yield* tokenOf(owner)
        yield* assertConnectionsEnd(owner, headers, end(owner))
        const answer = yield* at(hostOf(owner), { method: "GET", path: "/api/chat", headers })
        assertError(answer, { status: 401, code: "unauthorized" })
      })
    )

  it.scoped("A stream and a socket at a subdomain end when the API key is revoked", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const key = yield* createApiKey(owner, "chat")
      yield* assertConnectionsEnd(owner, key.headers, revokeApiKey(owner, key))
    })
  )

  /** Opens a stream with an endless answer and a socket, and waits until both are disconnected. */
  const assertConnectionsEnd = <E, R>(
    owner: OwnerWithAgent,
    headers: Readonly<Record<string, string>>,
    end: Effect.Effect<unknown, E, R>
  ) =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const { withBehavior } = yield* AgentManagerTest
      const started = yield* Deferred.make<void>()
      const chat = () =>
        Stream.make<[TurnEvent]>({ type: "delta", text: "Once " }).pipe(
          Stream.tap(() => Deferred.succeed(started, undefined)),
          Stream.concat(Stream.never)
        )
      const call = { method: "POST", path: "/api/agent", json: { message: "hello" } }
      const streaming = at(hostOf(owner), {
        ...call,
        headers: { ...headers, accept: "text/event-stream" },
        isCut: true
      })
      const stream = yield* Effect.forkScoped(withBehavior({ chat })(streaming))
      yield* Deferred.await(started)
      const socket = yield* connectSocket({
        host: `127.0.0.1:${appUrl.port}`,
        path: `/agents/${owner.agent.id}/ws`,
        headers: { ...headers, host: `${hostOf(owner)}:${appUrl.port}` }
      })
      yield* end
      assert.deepInclude(yield* socket.closed, { code: 4401 })
      yield* Fiber.join(stream)
    })
})

layer(App.layer({ appUrl: "https://berth.example" }), { excludeTestServices: true })("A subdomain over https", (it) => {
  it.effect("A subdomain over https has cookies that no other host can set or read", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const first = yield* App.web({ method: "GET", path: "/", headers: { ...html, host: hostOf(owner) } })
      assert.strictEqual(locationOf(first).origin, "https://berth.example")
      assert.match(
        String(first.headers["set-cookie"]?.[0]),
        /^__Host-berth_instance_ticket=\S+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
    })
  )
})
