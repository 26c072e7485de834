import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { parseJsonObject } from "../support/HttpCall.ts"
import { parseRawResponse, sendBytes } from "../support/RawHttp.ts"
import * as App from "../support/TestApp.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const oneMiB = 1024 * 1024

const both = ["web", "backend"] as const

layer(App.shared, { excludeTestServices: true })("The rules for every endpoint", (it) => {
  for (const listener of both) {
    it.effect(`An unknown path is 404 on the ${listener} listener, whatever the method`, () =>
      Effect.gen(function* () {
        const app = yield* App.TestApp
        for (const method of ["GET", "POST", "DELETE", "OPTIONS", "TRACE"])
          for (const path of [
            "/nowhere",
            "/api/nowhere",
            "/API/settings",
            "/api%2Fsettings",
            "/api/agents/a/b/c",
            "//health/live",
            "/health//live",
            "/health/live//"
          ])
            assertError(yield* app[listener]({ method, path }), { status: 404, code: "route_not_found" })
      })
    )
  }

  for (const listener of both)
    for (const [how, body] of [
      ["a body", "{bad"],
      ["a body in chunks", [Buffer.from("{"), Buffer.from("bad")]]
    ] as const)
      it.effect(`An offer of h2c with ${how} is ignored on the ${listener} listener`, () =>
        Effect.gen(function* () {
          const app = yield* App.TestApp
          const call = {
            web: { method: "POST", path: "/api/register" },
            backend: { method: "POST", path: "/api/ai/chat" }
          }[listener]
          const headers = {
            "content-type": "application/json",
            ...(listener === "backend" ? { authorization: `Bearer ${app.internalKey}` } : {})
          }
          const offer = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABk" }
          const plain = yield* app[listener]({ ...call, headers, body })
          const offered = yield* app[listener]({ ...call, headers: { ...headers, ...offer }, body })
          assert.deepStrictEqual([offered.status, withoutTraceId(offered)], [plain.status, withoutTraceId(plain)])
          assertError(offered, { status: 400, code: "body_malformed" })
          const empty = yield* app[listener]({ ...call, headers })
          assert.notDeepEqual(withoutTraceId(empty), withoutTraceId(plain))
        })
      )

  it.effect("A path that is no text is 404, with a session and without", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const path of ["/api/agents/%00", "/api/agents/%", "/api/agents/%zz", "/api/agents/%ed%a0%80", "/%c0%af"]) {
        const missing = { status: 404, code: "route_not_found" }
        assertError(yield* App.web({ method: "GET", path }), missing)
        assertError(yield* App.web({ method: "GET", path, as: owner }), missing)
      }
    })
  )

  it.effect("A wrong method is 405 and names the allowed ones", () =>
    Effect.gen(function* () {
      const table = [
        [yield* App.web({ method: "PUT", path: "/api/settings" }), "GET, HEAD, POST, PATCH, DELETE"],
        [yield* App.web({ method: "GET", path: "/api/register" }), "POST"],
        [yield* App.web({ method: "OPTIONS", path: "/api/instance/usr_0" }), "GET, HEAD"],
        [yield* App.web({ method: "GET", path: "/api/instance/usr_0/start" }), "POST"],
        [yield* App.web({ method: "TRACE", path: "/health/live" }), "GET, HEAD"],
        [yield* App.backend({ method: "PUT", path: "/api/ai/chat" }), "POST"],
        // A literal path next to a parameter is not an id, and removed methods are not allowed.
        [yield* App.web({ method: "PUT", path: "/api/agents/provision" }), "POST, GET, HEAD"],
        [yield* App.web({ method: "DELETE", path: "/api/agents/overviews" }), "GET, HEAD"],
        [yield* App.web({ method: "GET", path: "/api/agents/claim" }), "POST"],
        [yield* App.web({ method: "PATCH", path: "/api/agents" }), "GET, HEAD"],
        [yield* App.web({ method: "OPTIONS", path: "/api/agents/agt_0" }), "GET, HEAD"],
        [yield* App.web({ method: "GET", path: "/api/checkout" }), "POST"]
      ] as const
      for (const [answer, allow] of table) {
        assertError(answer, { status: 405, code: "method_not_allowed" })
        assert.strictEqual(answer.headers.allow, allow)
      }
      for (const path of ["tasks", "extendedAgentCard"]) {
        const answer = yield* App.web({ method: "POST", path: `/agents/agt_0/a2a/${path}` })
        assert.deepStrictEqual([answer.status, answer.headers.allow], [405, "GET, HEAD"])
      }
    })
  )

  it.effect("Errors at a lifecycle path have its shape in every layer", () =>
    Effect.gen(function* () {
      const path = "/api/instance/usr_0/start"
      const foreign = { origin: "https://evil.example" }
      const answers = [
        yield* App.web({ method: "GET", path }),
        yield* App.web({ method: "POST", path, headers: foreign }),
        yield* App.web({ method: "POST", path: "/api/instance/%00/start" }),
        yield* App.web({ method: "POST", path, body: "x".repeat(oneMiB + 1) })
      ]
      assert.deepStrictEqual(
        answers.map(({ body, status }) => [status, body["success"], body["status"]]),
        [405, 403, 404, 413].map((status) => [status, false, "error"])
      )
      const elsewhere = yield* App.web({ method: "DELETE", path: "/api/settings" })
      assert.notProperty(elsewhere.body, "success")
    })
  )

  it.effect("HEAD is GET without a body, and a trailing slash changes nothing", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const whole = yield* App.web({ method: "GET", path: "/api/settings", as: owner })
      const head = yield* App.web({ method: "HEAD", path: "/api/settings", as: owner })
      const slash = yield* App.web({ method: "GET", path: "/api/settings/", as: owner })
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      assert.strictEqual(head.headers["content-length"], String(Buffer.byteLength(whole.text)))
      assert.strictEqual(slash.text, whole.text)
      const unknown = yield* App.web({ method: "HEAD", path: "/api/settings" })
      assert.deepStrictEqual([unknown.status, unknown.text], [401, ""])
    })
  )

  it.effect("A safe request id is kept, and a missing one is generated", () =>
    Effect.gen(function* () {
      const idOf = (requestId?: string) =>
        Effect.map(
          App.web({
            method: "GET",
            path: "/api/agents",
            headers: requestId === undefined ? {} : { "x-request-id": requestId }
          }),
          ({ headers }) => String(headers["x-request-id"])
        )
      assert.strictEqual(yield* idOf("my-id.1:2_3"), "my-id.1:2_3")
      for (const requestId of [undefined, "", "a b", 'x"y', "é", "a".repeat(129)])
        assert.match(yield* idOf(requestId), /^req_[0-9a-f]{32}$/)
    })
  )

  it.effect("A trace of the caller is continued", () =>
    Effect.gen(function* () {
      const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
      const answer = yield* App.web({
        method: "GET",
        path: "/api/settings",
        headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
      })
      assert.strictEqual(answer.body["traceId"], traceId)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("What is no request", (it) => {
  const hostile: ReadonlyArray<readonly [string, string, number, string]> = [
    ["headers without end", `GET / HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, 431, "headers_too_large"],
    ["a path without end", `GET /${"a".repeat(20_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431, "headers_too_large"],
    ["no request line", "hello there\r\n\r\n", 400, "request_malformed"],
    ["version 2.0", "GET /health/live HTTP/2.0\r\nhost: a\r\n\r\n", 505, "http_version_unsupported"],
    ["a TLS greeting", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003", 400, "request_malformed"],
    ["an unknown version", "GET / HTTP/9.9\r\nhost: a\r\n\r\n", 400, "request_malformed"],
    ["an unknown method", "BREW / HTTP/1.1\r\nhost: a\r\n\r\n", 400, "request_malformed"],
    ["no host", "GET / HTTP/1.1\r\nconnection: close\r\n\r\n", 400, "request_malformed"],
    ["a host with a space", "GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n", 400, "request_malformed"],
    ["a host with a path", "GET / HTTP/1.1\r\nhost: a/b\r\nconnection: close\r\n\r\n", 400, "request_malformed"],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
      400,
      "request_malformed"
    ],
    [
      "a length and chunks",
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
      "request_malformed"
    ],
    ...["gzip, chunked", "gzip,chunked", "identity, chunked"].map(
      (coding) =>
        [
          `the transfer coding \`${coding}\``,
          `POST /api/register HTTP/1.1\r\nhost: a\r\ntransfer-encoding: ${coding}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
          501,
          "transfer_coding_unsupported"
        ] as const
    ),
    ["a length below zero", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", 400, "request_malformed"],
    ["a folded header", "GET / HTTP/1.1\r\nhost: a\r\n x: y\r\n\r\n", 400, "request_malformed"],
    ["a space before the colon", "GET / HTTP/1.1\r\nhost : a\r\n\r\n", 400, "request_malformed"],
    ["U+0000 in a header", "GET / HTTP/1.1\r\nhost: a\r\nx: \u0000\r\n\r\n", 400, "request_malformed"],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n", 400, "request_malformed"],
    ["an Expect that nobody meets", "GET / HTTP/1.1\r\nhost: a\r\nexpect: wonders\r\n\r\n", 417, "expectation_failed"]
  ]
  for (const [what, bytes, status, code] of hostile)
    it.effect(`${what} is ${status} in JSON`, () =>
      Effect.gen(function* () {
        const { appUrl } = yield* App.TestApp
        const port = Number(appUrl.port)
        const text = yield* sendBytes(port, [Buffer.from(bytes, "latin1")])
        const { headers, status: answered, text: body } = parseRawResponse(text)
        assert.strictEqual(answered, status, text)
        assertError({ status: answered, headers, text: body, body: parseJsonObject(body) }, { status, code })
        assert.match(String(headers["x-request-id"]), /^req_/)
        assert.deepInclude(headers, { connection: "close", "x-content-type-options": "nosniff" })
        assert.strictEqual(headers["content-length"], String(Buffer.byteLength(body, "latin1")))
        assert.isFalse(Number.isNaN(Date.parse(String(headers["date"]))), text)
        // One response, without data of later requests.
        assert.strictEqual(text.split("HTTP/1.1 ").length, 2)
      })
    )

  it.effect("A path with `;` or U+0130 is 404 by the pipeline, with a request id", () =>
    Effect.gen(function* () {
      for (const path of [
        "/api/agents/;x",
        "/health/live;x",
        "/api;x/agents",
        "/api/agents/a/%C4%B0/",
        "/%C4%B0pi/agents"
      ])
        for (const listener of [App.web, App.backend]) {
          const answer = yield* listener({ method: "GET", path })
          if (answer.status === 401) continue
          assertError(answer, { status: 404, code: "route_not_found" })
          assert.match(String(answer.headers["x-request-id"]), /^req_/)
        }
    })
  )

  it.effect("A request with a malformed body gets one response, also when its path is unknown", () =>
    Effect.gen(function* () {
      const { appUrl, backendUrl } = yield* App.TestApp
      for (const port of [Number(appUrl.port), Number(new URL(backendUrl).port)])
        for (const body of ["-2\r\n{}\r\n0\r\n\r\n", "zz\r\n", `2;${"a".repeat(100_000)}\r\n{}\r\n0\r\n\r\n`]) {
          const text = yield* sendBytes(port, [
            `POST /nowhere HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n${body}`
          ])
          assert.strictEqual(text.split("HTTP/1.1 ").length, 2, text)
        }
    })
  )

  it.effect("An absolute request target is handled as its path", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      for (const target of ["http://berth.example/health/live", "HTTP://berth.example:80/health/live?x=1"]) {
        const text = yield* sendBytes(Number(appUrl.port), [
          `GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`
        ])
        assert.strictEqual(parseRawResponse(text).status, 200, text)
      }
    })
  )

  it.effect("An unreserved character may be encoded in a path, as both are the same path", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { status } = yield* App.web({ method: "GET", path: "/health/%6c%69ve" })
      assert.strictEqual(status, 200)
      const answer = yield* App.web({ method: "GET", path: "/api/agents/%70rovision", as: owner })
      assert.strictEqual(answer.body["count"], 1)
      // With the rules of that route.
      const wrong = yield* App.web({ method: "PUT", path: "/api/agents/%70rovision", as: owner })
      assert.deepStrictEqual([wrong.status, wrong.headers.allow], [405, "POST, GET, HEAD"])
    })
  )

  it.effect("OPTIONS of the whole server is 204 without a body", () =>
    Effect.gen(function* () {
      const { appUrl, backendUrl } = yield* App.TestApp
      for (const port of [Number(appUrl.port), Number(new URL(backendUrl).port)]) {
        const text = yield* sendBytes(port, ["OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"])
        const answer = parseRawResponse(text)
        assert.deepStrictEqual([answer.status, answer.text], [204, ""], text)
        const other = yield* sendBytes(port, ["GET * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"])
        assert.strictEqual(parseRawResponse(other).status, 404, other)
      }
    })
  )

  it.effect("100 Continue is sent only when the route reads the body; a rejection sends its final status instead", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const port = Number(appUrl.port)
      const head = (path: string, length: number) =>
        `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nexpect: 100-continue\r\n\r\n`
      const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
      for (const [path, length, status] of [
        ["/api/register", oneMiB + 1, "413"],
        ["/nowhere", 2, "404"],
        ["/api/agents/provision", 2, "401"]
      ] as const) {
        const text = yield* sendBytes(port, [head(path, length)], 2000)
        assert.deepStrictEqual(statuses(text), [status], text)
        assert.strictEqual(parseRawResponse(text).headers["connection"], "close")
      }
      const next = "GET /health/live HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
      const text = yield* sendBytes(port, [`${head("/api/register", 2)}{}${next}`])
      assert.deepStrictEqual(statuses(text), ["100", "400", "200"], text)
    })
  )

  it.effect("A form with too many fields or with U+0000 is 400", () =>
    Effect.gen(function* () {
      const headers = { "content-type": "application/x-www-form-urlencoded" }
      const path = "/api/auth/callback/credentials"
      for (const body of ["a=&".repeat(300_000), "email=a%00@example.com&password=b", "email=a\u0000&password=b"])
        assertError(yield* App.web({ method: "POST", path, headers, body }), { status: 400, code: "body_malformed" })
    })
  )

  it.effect("/docs has a content security policy", () =>
    Effect.gen(function* () {
      for (const listener of [App.web, App.backend]) {
        const { headers } = yield* listener({ method: "GET", path: "/docs" })
        assert.match(String(headers["content-security-policy"]), /default-src 'none'/)
      }
    })
  )

  it.effect("Two Host headers are 400", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const text = yield* sendBytes(Number(appUrl.port), [
        "GET /health/live HTTP/1.1\r\nhost: a\r\nHOST: b\r\nconnection: close\r\n\r\n"
      ])
      assert.strictEqual(parseRawResponse(text).status, 400)
      assert.include(text, '"code":"request_malformed"')
    })
  )

  it.effect("Requests that precede a malformed one are answered before it", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const good = "GET /api/agents HTTP/1.1\r\nhost: a\r\n\r\n"
      const text = yield* sendBytes(Number(appUrl.port), [`${good}${good}BAD\r\n\r\n`])
      assert.deepStrictEqual(
        [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
        ["200", "200", "400"]
      )
    })
  )

  it.effect("A malformed chunk ends its request", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const text = yield* sendBytes(Number(appUrl.port), [
        "POST /api/register HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
      ])
      assert.strictEqual(parseRawResponse(text).status, 400, text)
    })
  )

  it.effect("A broken connection affects no other request", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const port = Number(appUrl.port)
      yield* Effect.replicateEffect(
        sendBytes(port, ["POST /api/register HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{"], 50),
        20,
        { concurrency: "unbounded" }
      )
      assert.strictEqual((yield* App.web({ method: "GET", path: "/health/live" })).status, 200)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("The origin rule", (it) => {
  const foreign = (appUrl: URL) => [
    "https://evil.example",
    "null",
    "",
    `http://agents.localhost:${appUrl.port}`,
    `https://localhost:${appUrl.port}`,
    `http://localhost:${Number(appUrl.port) + 1}`
  ]

  it.effect("The origin rule rejects requests of foreign pages first, sign-up and sign-in too", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const calls = [
        { method: "POST", path: "/api/register", body: "{bad" },
        { method: "POST", path: "/api/auth/callback/credentials", json: {} },
        { method: "POST", path: "/api/auth/signout", as: owner },
        { method: "POST", path: "/api/settings", as: owner, json: { name: "Robbed" } },
        { method: "PATCH", path: "/api/settings", as: owner, json: { name: "Robbed" } },
        { method: "POST", path: "/api/agents/provision", as: owner, json: { name: "a" } },
        { method: "POST", path: `/api/instance/${owner.user.id}/stop`, as: owner },
        { method: "POST", path: "/api/agent", as: owner, json: { message: "hello" } },
        { method: "POST", path: "/api/chat", as: owner, json: { message: "hello" } }
      ]
      for (const origin of foreign(appUrl))
        for (const call of calls)
          assertError(yield* App.web({ ...call, headers: { origin } }), { status: 403, code: "origin_not_allowed" })
      const settings = yield* App.web({ method: "GET", path: "/api/settings", as: owner })
      assert.strictEqual(settings.body["name"], owner.user.name)
    })
  )

  it.effect("The origin rule admits own pages at every loopback name, programs, and reads", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const change = (headers: Record<string, string>) =>
        App.web({ method: "POST", path: "/api/settings", as: owner, json: { name: "New" }, headers })
      for (const host of ["localhost", "127.0.0.1", "[::1]"])
        assert.strictEqual((yield* change({ origin: `http://${host}:${appUrl.port}` })).status, 200, host)
      assert.strictEqual((yield* change({})).status, 200)
      const read = yield* App.web({
        method: "GET",
        path: "/api/settings",
        as: owner,
        headers: { origin: "https://evil.example" }
      })
      assert.strictEqual(read.status, 200)
      assert.notProperty(read.headers, "access-control-allow-origin")
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Cookies", (it) => {
  it.effect("Malformed cookies identify no user", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const hostile = [
        "=",
        ";;;;",
        `${cookieName}`,
        `${cookieName}=`,
        `${cookieName}=%`,
        `${cookieName}=%00`,
        `${cookieName}=%ed%a0%80`,
        `${cookieName}="`,
        `${cookieName}=' or 1=1 --`,
        `${cookieName}=${"a".repeat(10_000)}`,
        "__proto__=x; constructor=y; toString=z",
        `${cookieName.toUpperCase()}=x`
      ]
      const nobody = yield* App.web({ method: "GET", path: "/api/settings" })
      for (const cookie of hostile) {
        const answer = yield* App.web({ method: "GET", path: "/api/settings", headers: { cookie } })
        assert.deepStrictEqual([answer.status, withoutTraceId(answer)], [401, withoutTraceId(nobody)], cookie)
      }
    })
  )

  it.effect("The first of two cookies with the session's name counts", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const [me, other] = [yield* App.signInNewUser(), yield* App.signInNewUser()]
      const who = (cookie: string | ReadonlyArray<string>) =>
        Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ body, status }) =>
          status === 200 ? body["id"] : status
        )
      assert.strictEqual(yield* who(`${me.cookie}; ${other.cookie}`), me.user.id)
      assert.strictEqual(yield* who([me.cookie, other.cookie]), me.user.id)
      assert.strictEqual(yield* who(`${cookieName}=junk; ${me.cookie}`), 401)
      assert.strictEqual(yield* who(`a=b; c="d"; ;x; ${me.cookie}; e`), me.user.id)
    })
  )

  it.effect("The session's token is read from the cookie only", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const me = yield* App.signInNewUser()
      const token = me.cookie.slice(cookieName.length + 1)
      const elsewhere = [
        App.web({ method: "GET", path: `/api/settings?${me.cookie}` }),
        App.web({ method: "GET", path: "/api/settings", headers: { authorization: `Bearer ${token}` } }),
        App.web({ method: "GET", path: "/api/settings", headers: { cookie: `berth_session=${token}` } })
      ]
      for (const requested of elsewhere) assert.strictEqual((yield* requested).status, 401)
    })
  )
})

layer(App.layer({ appUrl: "https://berth.example" }), { excludeTestServices: true })("Behind https", (it) => {
  it.effect("Every public response requires https from then on", () =>
    Effect.gen(function* () {
      for (const path of ["/health/live", "/nowhere"])
        assert.match(
          String((yield* App.web({ method: "GET", path })).headers["strict-transport-security"]),
          /^max-age=\d+/
        )
    })
  )
})
