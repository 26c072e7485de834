import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { promisify } from "node:util"
import { parseRawResponse, sendBytes, sendBytesThenRead } from "../support/RawHttp.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { lapseSubscription, createOwnerWithAgent } from "./OwnerFixtures.ts"

const hasPython = spawnSync("python3", ["--version"]).status === 0

const jsonType = { "content-type": "application/json" }
const oneMiB = 1024 * 1024

layer(App.layer(), { excludeTestServices: true })("The body rules", (it) => {
  const provision = { method: "POST", path: "/api/agents/provision" }

  it.effect("Malformed JSON is 400 at every route with a JSON body", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const bodies = ["{bad", '{"name":"a"', "nul", '{"name":"a"}}', "'a'", Uint8Array.from([0x22, 0xff, 0x22])]
      for (const body of bodies) {
        const malformed = { status: 400, code: "body_malformed" }
        assertError(yield* App.web({ ...provision, as: owner, body, headers: jsonType }), malformed)
        assertError(yield* App.web({ method: "POST", path: "/api/register", body, headers: jsonType }), malformed)
        assertError(yield* App.backend({ method: "POST", path: "/api/ai/chat", body, headers: jsonType }), malformed)
      }
    })
  )

  it.effect("U+0000 and lone surrogates are 400, in keys too; written out they are text like any other", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const settings = (body: string) =>
        App.web({ method: "POST", path: "/api/settings", as: owner, body, headers: jsonType })
      for (const body of ['{"name":"a\\u0000b"}', '{"name":"\\ud800"}', '{"x\\udfff":1}', '{"a":[{"b":"\\u0000"}]}'])
        assertError(yield* settings(body), { status: 400, code: "body_malformed" })
      const written = yield* settings('{"name":"\\\\u0000 \\ud83d\\ude00"}')
      assert.strictEqual(written.body["name"], "\\u0000 😀")
    })
  )

  it.effect("JSON that is no object is rejected with the missing fields or the type", () =>
    Effect.gen(function* () {
      for (const body of ["[]", '"text"', "1", "null", "true"]) {
        const answer = yield* App.web({ method: "POST", path: "/api/register", body, headers: jsonType })
        assertError(answer, { status: 400, code: "invalid_request" })
      }
    })
  )

  it.effect("JSON that is deep or has very many values is 400, and JSON that is only wide is read", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const deep = `{"name":"a","x":${"[".repeat(200_000)}${"]".repeat(200_000)}}`
      const many = `{"name":"a","config":{"channels":[${"1,".repeat(400_000)}1]}}`
      for (const body of [deep, many])
        assertError(yield* App.web({ ...provision, as: owner, body, headers: jsonType }), {
          status: 400,
          code: "body_malformed"
        })
      const parameters = Object.fromEntries(
        Array.from({ length: 8 }, (_, index) => [`p${index}`, { type: "string", description: "A parameter" }])
      )
      const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: parameters } } }
      for (const [name, x] of Object.entries({
        "9,000 numbers": Array.from({ length: 9_000 }, () => 0),
        "128 tools": Array.from({ length: 128 }, () => tool),
        "1,600 messages": Array.from({ length: 1_600 }, () => ({
          role: "user",
          content: [{ type: "text", text: "hello" }]
        }))
      })) {
        const read = yield* App.web({ method: "POST", path: "/api/settings", as: owner, json: { name, x } })
        assert.strictEqual(read.body["name"], name, read.text)
      }
    })
  )

  it.effect("An error stays short, whatever the number of issues", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const long = "x".repeat(900_000)
      const answers = [
        yield* App.backend({
          method: "POST",
          path: "/api/ai/chat",
          body: `{"messages":[${"1,".repeat(9_000)}1]}`,
          headers: jsonType
        }),
        yield* App.web({ ...provision, as: owner, json: { name: [long] } }),
        yield* App.web({ ...provision, as: owner, json: { name: "a", config: { [long]: 1 } } }),
        yield* App.web({ ...provision, as: owner, json: { name: "a", model: long } }),
        yield* App.web({ method: "POST", path: "/api/register", json: { email: long, password: "p".repeat(100_000) } }),
        yield* App.web({ method: "POST", path: "/api/agent", as: owner, json: { message: long } }),
        yield* App.web({ method: "POST", path: "/api/agent", as: owner, json: { message: "a", sessionId: long } }),
        yield* App.backend({
          method: "POST",
          path: "/api/ai/chat",
          json: { messages: [{ role: "user", content: "a" }], model: long }
        })
      ]
      for (const answer of answers) {
        assert.include([400, 404], answer.status)
        assert.isBelow(answer.text.length, 20_000, answer.text.slice(0, 200))
      }
    })
  )

  it.effect("An error names the first invalid item of an array, and every invalid field", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const wrong = [1, 1]
      const cases = [
        ["/v1/chat/completions", { model: "a", messages: wrong, seed: "a" }, ["messages.0", "seed"]],
        ["/v1/embeddings", { model: "a", input: wrong, dimensions: "a" }, ["input.0", "dimensions"]],
        ["/api/v1/gateway", { messages: wrong, top_p: "a" }, ["messages.0", "top_p"]],
        ["/api/v1/gateway", { plugin: "agent", messages: wrong, stream: 1 }, ["messages.0", "stream"]],
        ["/api/agent", { action: "chat", message: 1, attachments: wrong }, ["message", "attachments.0"]],
        [
          provision.path,
          { name: "a", config: { channels: wrong, skills: wrong } },
          ["config.channels.0", "config.skills.0"]
        ]
      ] as const
      for (const [path, json, named] of cases) {
        const { status, text } = yield* App.web({ method: "POST", path, as: owner, json })
        assert.strictEqual(status, 400, text)
        for (const field of named) assert.include(text, `${field}: `, text)
        assert.notInclude(text, ".1: ", text)
      }
    })
  )

  it.effect("A password is in no response", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      for (const password of [["hunter2"], { is: "hunter2" }, "hunter2"])
        for (const path of ["/api/register", "/api/auth/callback/credentials"]) {
          const answer = yield* App.web({ method: "POST", path, json: { email: "a@example.com", password } })
          assert.include([400, 401], answer.status)
          assert.notInclude(answer.text, "hunter2")
        }
      assert.notInclude((yield* logLines).join("\n"), "hunter2")
    })
  )

  it.effect("An empty body is an object without members, and a POST that needs none works without", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const headers of [{}, jsonType, { "content-type": "text/plain" }]) {
        const answer = yield* App.web({ ...provision, as: owner, headers })
        assertError(answer, { status: 400, code: "invalid_request" })
        assert.strictEqual(answer.body["message"], "name: is missing")
      }
      for (const path of [`/api/instance/${owner.user.id}/start`, "/api/auth/signout"])
        for (const headers of [{}, jsonType, { "content-type": "text/plain" }])
          assert.strictEqual(
            (yield* App.web({ method: "POST", path, as: yield* App.openSession(owner.user), headers })).status,
            200
          )
    })
  )

  it.effect("Another content type is 415 and names the allowed ones", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const unsupported = { status: 415, code: "media_type_unsupported" }
      const types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/octet-stream",
        "text/plain; note=application/json"
      ]
      for (const type of types) {
        const headers = { "content-type": type }
        const answer = yield* App.web({ ...provision, as: owner, body: '{"name":"a"}', headers })
        assertError(answer, unsupported)
        assert.include(String(answer.body["message"]), "application/json")
        assertError(yield* App.backend({ method: "POST", path: "/api/ai/chat", body: "{}", headers }), unsupported)
      }
      assertError(yield* App.web({ ...provision, as: owner, body: '{"name":"a"}' }), unsupported)
      const form = yield* App.web({
        method: "POST",
        path: "/api/auth/callback/credentials",
        body: "x",
        headers: { "content-type": "text/plain" }
      })
      assertError(form, unsupported)
      assert.include(String(form.body["message"]), "application/x-www-form-urlencoded")
    })
  )

  it.effect("A body that is compressed, or in another encoding than UTF-8, is 415", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const rename = (headers: Record<string, string>) =>
        App.web({
          method: "POST",
          path: "/api/settings",
          as: owner,
          body: '{"name":"Ada"}',
          headers: { "content-type": "application/json", ...headers }
        })
      for (const headers of [
        { "content-encoding": "gzip" },
        { "content-encoding": "br, gzip" },
        { "content-type": "application/json; charset=utf-16" },
        { "content-type": 'application/json;x=y; CharSet="latin1"' }
      ]) {
        const answer = yield* rename(headers)
        assertError(answer, { status: 415, code: "media_type_unsupported" })
        assert.strictEqual(answer.headers["accept-encoding"], "content-encoding" in headers ? "identity" : undefined)
      }
      for (const headers of [{ "content-encoding": "identity" }, { "content-type": 'application/json;charset="UTF8"' }])
        assert.strictEqual((yield* rename(headers)).status, 200)
    })
  )

  it.effect("A form that is compressed is 415", () =>
    Effect.gen(function* () {
      const as = yield* createOwnerWithAgent()
      const forms = [
        ["/api/auth/callback/credentials", "application/x-www-form-urlencoded", "email=a%40example.com&password=p"],
        ["/v1/audio/transcriptions", "multipart/form-data; boundary=x", "--x--\r\n"]
      ] as const
      for (const [path, type, body] of forms) {
        const headers = { "content-type": type, "content-encoding": "gzip" }
        const answer = yield* App.web({ method: "POST", path, as, body, headers })
        assert.strictEqual(answer.status, 415, answer.text)
        assert.strictEqual(answer.headers["accept-encoding"], "identity")
      }
    })
  )

  it.effect("JSON by another name is JSON", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const type of ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.berth+json"]) {
        const answer = yield* App.web({
          method: "POST",
          path: "/api/settings",
          as: owner,
          body: JSON.stringify({ name: type }),
          headers: { "content-type": type }
        })
        assert.deepStrictEqual([answer.status, answer.body["name"]], [200, type], answer.text)
      }
    })
  )

  it.effect("A body over one MiB is 413, announced or not; one of a MiB is read", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const large = Buffer.alloc(oneMiB + 1, 0x20)
      const half = Buffer.alloc(oneMiB / 2 + 1, 0x20)
      const tooLarge = { status: 413, code: "body_too_large" }
      for (const body of [large, [half, half], [half, half, half, half]]) {
        assertError(yield* App.web({ ...provision, as: owner, body, headers: jsonType }), tooLarge)
        assertError(yield* App.web({ method: "POST", path: "/api/register", body, headers: jsonType }), tooLarge)
        assertError(yield* App.backend({ method: "POST", path: "/api/ai/chat", body, headers: jsonType }), tooLarge)
      }
      const text = '{"name":"Just right"}'
      const whole = Buffer.concat([Buffer.from(text), Buffer.alloc(oneMiB - text.length, 0x20)])
      const read = yield* App.web({ method: "POST", path: "/api/settings", as: owner, body: whole, headers: jsonType })
      assert.strictEqual(read.body["name"], "Just right")
    })
  )

  it.effect("A 413 reaches clients that send the whole body before they read", () =>
    Effect.gen(function* () {
      const { appUrl, backendUrl } = yield* App.TestApp
      const body = Buffer.alloc(12_000_000, 0x20)
      const head = (path: string, length: string) =>
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${length}\r\n\r\n`
      const chunk = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")])
      const calls = [
        sendBytesThenRead(Number(appUrl.port), [head("/api/register", `content-length: ${body.length}`), body]),
        sendBytesThenRead(Number(appUrl.port), [head("/api/register", "transfer-encoding: chunked"), chunk]),
        sendBytesThenRead(Number(new URL(backendUrl).port), [
          head("/api/ai/chat", `content-length: ${body.length}`),
          body
        ])
      ]
      for (const call of calls)
        for (const text of yield* Effect.replicateEffect(call, 5)) {
          assert.strictEqual(parseRawResponse(text).status, 413, text)
          assert.include(text, '"code":"body_too_large"')
        }
    })
  )

  it.effect.runIf(hasPython)("A 413 reaches Python's http.client", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const program = [
        "import http.client",
        "for _ in range(5):",
        `  client = http.client.HTTPConnection("127.0.0.1", ${appUrl.port}, timeout=20)`,
        '  client.request("POST", "/api/register", b" " * 12000000, {"content-type": "application/json"})',
        "  print(client.getresponse().status)"
      ].join("\n")
      const printed = yield* Effect.promise(() => promisify(execFile)("python3", ["-c", program]))
      assert.deepStrictEqual(printed.stdout.trim().split("\n"), ["413", "413", "413", "413", "413"])
    })
  )

  it.effect("Unknown members of a body are ignored", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const json = { name: "Known", plan: "enterprise", credits: 1000, id: "usr_0", __proto__x: 1, constructor: {} }
      const answer = yield* App.web({ method: "POST", path: "/api/settings", as: owner, json })
      assert.deepStrictEqual(
        [answer.status, answer.body["name"], answer.body["plan"], answer.body["credits"], answer.body["id"]],
        [200, "Known", "pro", 0, owner.user.id]
      )
      const polluting = yield* App.web({
        method: "POST",
        path: "/api/settings",
        as: owner,
        body: '{"name":"Known","__proto__":{"email":"robbed@example.com"}}',
        headers: jsonType
      })
      assert.strictEqual(polluting.body["email"], owner.user.email)
    })
  )
})

layer(
  App.layer({
    limits: { register: { count: 1, window: Duration.hours(1) }, "sign-in": { count: 1, window: Duration.hours(1) } }
  }),
  {
    excludeTestServices: true
  }
)("The order of checks", (it) => {
  const bad: ReadonlyArray<{ readonly body: string; readonly headers: Record<string, string> }> = [
    { body: "{bad", headers: jsonType },
    { body: "{}", headers: jsonType },
    { body: "x", headers: { "content-type": "text/plain" } }
  ]

  for (const path of ["/api/register", "/api/auth/callback/credentials"])
    it.effect(`The rate limit precedes validation of the body, and invalid bodies count: ${path}`, () =>
      Effect.gen(function* () {
        for (const [index, call] of bad.entries()) {
          const from = `192.0.2.${index + (path === "/api/register" ? 10 : 20)}`
          const first = yield* App.web({ method: "POST", path, from, ...call })
          assert.include([400, 415], first.status)
          for (const again of bad)
            assertError(yield* App.web({ method: "POST", path, from, ...again }), {
              status: 429,
              code: "rate_limit_exceeded"
            })
        }
      })
    )

  it.effect("Authentication is checked before the body", () =>
    Effect.gen(function* () {
      for (const call of bad)
        for (const path of ["/api/agents/provision", "/api/settings", "/api/agent", "/api/chat"])
          assertError(yield* App.web({ method: "POST", path, ...call }), { status: 401, code: "unauthorized" })
    })
  )

  it.effect("The body is checked before the subscription, and that before the plan's limit", () =>
    Effect.gen(function* () {
      const path = "/api/agents/provision"
      const unsubscribed = yield* App.signInNewUser()
      const full = yield* createOwnerWithAgent("starter")
      for (const as of [unsubscribed, full]) {
        assertError(yield* App.web({ method: "POST", path, as, json: {} }), { status: 400, code: "invalid_request" })
        assertError(yield* App.web({ method: "POST", path, as, json: { name: "a", model: "x" } }), {
          status: 400,
          code: "model_not_allowed"
        })
      }
      yield* lapseSubscription(full)
      assertError(yield* App.web({ method: "POST", path, as: full, json: { name: "a" } }), {
        status: 402,
        code: "subscription_required"
      })
    })
  )
})

layer(
  App.layer({
    limits: { register: { count: 1, window: Duration.hours(1) } },
    aiLayerIsPrivate: true,
    uploads: { minimumBytesPerSecond: 10_000, grace: Duration.seconds(3), perAddress: 2 }
  }),
  { excludeTestServices: true }
)("Requests whose body has not arrived", (it) => {
  const declare = (path: string, length: number, headers: Record<string, string> = {}) =>
    [
      `POST ${path} HTTP/1.1`,
      "host: localhost",
      "content-type: application/json",
      `content-length: ${length}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      "\r\n{"
    ].join("\r\n")

  it.effect("Requests whose body has not arrived are 401 or 429 by their headers on both listeners", () =>
    Effect.gen(function* () {
      const { appUrl, backendUrl } = yield* App.TestApp
      const [publicPort, privatePort] = [Number(appUrl.port), Number(new URL(backendUrl).port)]
      yield* App.web({ method: "POST", path: "/api/register", json: {}, from: "192.0.2.77" })
      const calls = [
        [publicPort, declare("/api/settings", 900_000), 401],
        [publicPort, declare("/api/register", 900_000, { "x-forwarded-for": "192.0.2.77" }), 429],
        [privatePort, declare("/internal/runtime/model", 8_000_000), 401],
        [privatePort, declare("/api/ai/chat", 900_000), 401],
        [privatePort, declare("/v1/chat/completions", 8_000_000), 401],
        [privatePort, declare("/internal/gateway/transcriptions", 25_000_000), 401]
      ] as const
      for (const [port, bytes, status] of calls) {
        const { headers, status: answered } = parseRawResponse(yield* sendBytes(port, [bytes], 3000))
        assert.strictEqual(answered, status, bytes)
        assert.strictEqual(headers["connection"], "close", bytes)
      }
    })
  )

  it.effect("Requests are 408 when they upload too slowly, and hold no slot of other addresses", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const as = yield* App.signInNewUser("pro")
      const slow = Array.from({ length: 10 }, (_, n) =>
        sendBytes(
          Number(appUrl.port),
          [
            declare("/api/v1/gateway", 20_000_000, {
              cookie: as.cookie,
              "x-plugin-id": "stt",
              "x-forwarded-for": `192.0.2.${n}`
            })
          ],
          20_000
        )
      )
      const uploads = yield* Effect.fork(Effect.all(slow, { concurrency: "unbounded" }))
      const audio = Buffer.concat([Buffer.from("ID3"), Buffer.alloc(1_500_000, 7)]).toString("base64")
      const answer = yield* App.web({ method: "POST", path: "/api/v1/gateway", as, json: { plugin: "stt", audio } })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.isNull(uploads.unsafePoll())
      for (const text of yield* Fiber.join(uploads)) {
        assert.strictEqual(parseRawResponse(text).status, 408, text)
        assert.include(text, '"code":"request_timeout"')
      }
    })
  )

  it.effect("Requests whose body has not arrived wait while their address has as many uploads as it may have", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const as = yield* App.signInNewUser("pro")
      const from = "192.0.2.200"
      const slow = sendBytes(
        Number(appUrl.port),
        [
          declare("/api/v1/gateway", 20_000_000, {
            cookie: as.cookie,
            "x-plugin-id": "stt",
            "x-forwarded-for": from
          })
        ],
        20_000
      )
      const uploads = yield* Effect.fork(Effect.all([slow, slow], { concurrency: "unbounded" }))
      // They hold their slots for three seconds.
      yield* Effect.sleep("1 second")
      const audio = Buffer.concat([Buffer.from("ID3"), Buffer.alloc(1_500_000, 7)]).toString("base64")
      const answer = yield* App.web({
        method: "POST",
        path: "/api/v1/gateway",
        as,
        from,
        json: { plugin: "stt", audio }
      })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.isNotNull(uploads.unsafePoll())
      yield* Fiber.join(uploads)
    })
  )
})
