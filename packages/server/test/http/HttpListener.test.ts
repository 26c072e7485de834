import * as UuidIdGenerator from "@berth/infra/crypto/UuidIdGenerator"
import { DetachedWork } from "@berth/server/http/DetachedWork"
import * as HttpListener from "@berth/server/http/HttpListener"
import type { ListenerRequest } from "@berth/server/http/ListenerRequest"
import { readBody } from "@berth/server/http/BodyReader"
import { setLazyContent } from "@berth/server/http/RequestBody"
import { writeFailure, writeResponse } from "@berth/server/http/ResponseWriter"
import { type HttpServerError, HttpServer, HttpServerResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, FiberSet, Layer, Option, Schedule, Scope, Stream } from "effect"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { eventually } from "../../../../test/support/Eventually.ts"
import { parseRawResponse, sendBytes } from "../../../../test/support/RawHttp.ts"
import { recordSpans } from "../../../../test/support/RecordedTelemetry.ts"

const portOf = Effect.map(HttpServer.HttpServer, ({ address }) => (address._tag === "TcpAddress" ? address.port : 0))

const listener = (arrival: { readonly headers: Duration.Duration; readonly whole: Duration.Duration }) =>
  HttpListener.layer({ host: "127.0.0.1", port: 0, drain: Duration.seconds(1), arrival }).pipe(
    Layer.provide(UuidIdGenerator.layer)
  )

const serve = (
  answer: (
    request: ListenerRequest
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, HttpServerError.RequestError>
) =>
  HttpListener.servePipeline((request) =>
    Effect.matchCauseEffect(Effect.interruptible(answer(request)), {
      onFailure: (cause) => writeFailure(request, cause),
      onSuccess: (response) => writeResponse(request, response)
    })
  )

describe("A listener", () => {
  it.scopedLive("A listener answers a client that sends its headers too slowly in JSON and disconnects it", () =>
    Effect.gen(function* () {
      const port = yield* portOf
      const text = yield* sendBytes(port, ["GET / HTTP/1.1\r\nhost: a\r\nx-slow: "])
      const { headers, status, text: body } = parseRawResponse(text)
      assert.strictEqual(status, 408, text)
      assert.deepInclude(JSON.parse(body), { code: "request_timeout" })
      assert.match(String(headers["x-request-id"]), /^req_/)
    }).pipe(Effect.provide(listener({ headers: Duration.millis(300), whole: Duration.millis(600) })))
  )

  it.scopedLive("A listener traces a request that it cannot parse with its status", () => {
    const { layer, spans } = recordSpans()
    const built = listener({ headers: Duration.minutes(1), whole: Duration.minutes(1) })
    return Effect.gen(function* () {
      yield* sendBytes(yield* portOf, ["BREW / HTTP/1.1\r\nhost: a\r\n\r\n"])
      const span = spans.find((attributes) => attributes.get("name") === "http.server refused")
      assert.deepInclude(Object.fromEntries(span ?? []), {
        "http.request.method": "_OTHER",
        "url.scheme": "http",
        "http.response.status_code": 400
      })
    }).pipe(Effect.provide(Layer.provideMerge(built, layer)))
  })

  it.scopedLive("A listener responds 503 before its routes are added", () =>
    Effect.gen(function* () {
      const port = yield* portOf
      const { headers, status, text } = parseRawResponse(yield* sendBytes(port, ["GET / HTTP/1.1\r\nhost: a\r\n\r\n"]))
      assert.strictEqual(status, 503)
      assert.deepInclude(JSON.parse(text), { code: "service_unavailable" })
      assert.strictEqual(headers["retry-after"], "1")
    }).pipe(Effect.provide(listener({ headers: Duration.minutes(1), whole: Duration.minutes(1) })))
  )
})

it.scopedLive("A listener disconnects the client of a body that breaks off", () =>
  Effect.gen(function* () {
    const port = yield* Effect.provide(
      portOf,
      yield* Layer.build(
        serve(() =>
          Effect.succeed(
            HttpServerResponse.stream(
              Stream.concat(Stream.make(new TextEncoder().encode("begun")), Stream.dieMessage("broken"))
            )
          )
        ).pipe(Layer.provideMerge(listener({ headers: Duration.minutes(1), whole: Duration.minutes(1) })))
      )
    )
    const text = yield* sendBytes(port, ["GET / HTTP/1.1\r\nhost: a\r\n\r\n"])
    assert.match(text, /begun/)
    assert.notMatch(text, /\r\n0\r\n/)
  })
)

/** Connections of a port that its listener has not closed (states 01 and 08 of /proc/net/tcp). */
const countOpenConnections = (port: number) =>
  Effect.sync(() => {
    const local = port.toString(16).toUpperCase().padStart(4, "0")
    return [...readFileSync("/proc/net/tcp", "utf8").matchAll(new RegExp(`:${local} \\S+ (01|08) `, "g"))].length
  })

describe("A listener with a client that stalls", () => {
  const minute = Duration.minutes(1)
  const answering = (stall: { readonly request: Duration.Duration; readonly response: Duration.Duration }) =>
    serve(() => Effect.succeed(HttpServerResponse.uint8Array(new Uint8Array(64 * 1024 * 1024)))).pipe(
      Layer.provideMerge(
        HttpListener.layer({ host: "127.0.0.1", port: 0, drain: Duration.seconds(1), stall }).pipe(
          Layer.provide(UuidIdGenerator.layer)
        )
      )
    )

  it.scopedLive("A listener disconnects a client that reads nothing of its response", () =>
    Effect.gen(function* () {
      const port = yield* portOf
      const { socket, text } = yield* openConnection(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* eventually(text, (read) => read.includes("200 OK"))
      socket.pause()
      yield* eventually(countOpenConnections(port), (count) => count === 0)
    }).pipe(Effect.provide(answering({ request: minute, response: Duration.millis(300) })))
  )

  it.scopedLive("A listener disconnects a client that continues to send an answered request slowly", () =>
    Effect.gen(function* () {
      const port = yield* portOf
      const { socket } = yield* openConnection(port, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9000\r\n\r\n{")
      const ended = yield* Effect.forkScoped(
        Effect.async<void>((resume) => void socket.once("close", () => resume(Effect.void)))
      )
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.sync(() => socket.write(" ")),
          Schedule.spaced("50 millis")
        )
      )
      yield* Effect.timeoutFail(Fiber.join(ended), {
        duration: "30 seconds",
        onTimeout: () => new Error("the connection was not cut")
      })
    }).pipe(Effect.provide(answering({ request: Duration.millis(300), response: minute })))
  )
})

/** Responds to each request with its path and body; `/held` waits for the release. */
const echo = (release: Deferred.Deferred<void>) =>
  serve((request) =>
    Effect.gen(function* () {
      if (request.url === "/held") yield* Deferred.await(release)
      setLazyContent(request, Option.none(), readBody(request.source, 1000, undefined))
      return HttpServerResponse.text(`[${request.url} ${yield* request.text}]`)
    })
  )

const serving = (drain: Duration.DurationInput = "30 seconds") =>
  Effect.gen(function* () {
    const release = yield* Deferred.make<void>()
    const scope = yield* Effect.acquireRelease(Scope.make(), (open) =>
      Effect.zipRight(Deferred.succeed(release, undefined), Scope.close(open, Exit.void))
    )
    const built = yield* Layer.build(
      Layer.provideMerge(
        echo(release),
        HttpListener.layer({ host: "127.0.0.1", port: 0, drain: Duration.decode(drain) }).pipe(
          Layer.provide(UuidIdGenerator.layer)
        )
      )
    ).pipe(Scope.extend(scope))
    return {
      port: yield* Effect.provide(portOf, built),
      detached: yield* Effect.provide(DetachedWork, built),
      release: Deferred.succeed(release, undefined),
      close: Scope.close(scope, Exit.void)
    }
  })

const openConnection = (port: number, bytes: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const read: Array<Buffer> = []
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
      socket.on("data", (chunk: Buffer) => read.push(chunk))
      socket.on("error", () => socket.destroy())
      socket.write(bytes)
      return { socket, text: Effect.sync(() => Buffer.concat(read).toString("latin1")) }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Whether the port accepts no connections. */
const isRefused = (port: number) =>
  Effect.async<boolean>((resume) => {
    const socket = connect({ port, host: "127.0.0.1" })
    socket.once("connect", () => resume(Effect.succeed(false)))
    socket.once("error", () => resume(Effect.succeed(true)))
    return Effect.sync(() => socket.destroy())
  })

const h2c = "host: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
const handshake = (path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
const last = "GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
const bodiesOf = (text: string) => [...text.matchAll(/\[.*?\]/g)].map(String)

describe("A listener that is offered an upgrade", () => {
  const offers: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]> = [
    ["without a body", [`GET /a HTTP/1.1\r\n${h2c}\r\n`, last], ["[/a ]", "[/last ]"]],
    [
      "with a body",
      [`POST /a HTTP/1.1\r\n${h2c}content-length: 4\r\n\r\n`, "bo", `dy${last}`],
      ["[/a body]", "[/last ]"]
    ],
    [
      "with a body in chunks",
      [`POST /a HTTP/1.1\r\n${h2c}transfer-encoding: chunked\r\n\r\n4\r\nbo`, `dy\r\n0\r\n\r\n${last}`],
      ["[/a body]", "[/last ]"]
    ],
    [
      "among pipelined requests",
      [
        `GET /a HTTP/1.1\r\nhost: a\r\n\r\nPOST /b HTTP/1.1\r\n${h2c}content-length: 4\r\n\r\nbodyGET /c HTTP/1.1\r\n${h2c}\r\n${last}`
      ],
      ["[/a ]", "[/b body]", "[/c ]", "[/last ]"]
    ],
    [
      "with a length behind a thousand other headers",
      [`POST /a HTTP/1.1\r\n${h2c}${"x:\r\n".repeat(1100)}content-length: 4\r\n\r\nbody${last}`],
      ["[/a body]", "[/last ]"]
    ],
    [
      "by a handshake of an unknown version",
      [`${handshake("/a").replace("version: 13", "version: 8")}${last}`],
      ["[/a ]", "[/last ]"]
    ],
    [
      "by a handshake with another method",
      [`${handshake("/a").replace("GET", "POST").replace("\r\n\r\n", "\r\ncontent-length: 4\r\n\r\nbody")}${last}`],
      ["[/a body]", "[/last ]"]
    ],
    ["by a handshake in HTTP/1.0", [handshake("/a").replace("HTTP/1.1", "HTTP/1.0")], ["[/a ]"]]
  ]
  for (const [how, pieces, bodies] of offers)
    it.scopedLive(`A listener ignores an upgrade that it does not accept: ${how}`, () =>
      Effect.gen(function* () {
        const { port } = yield* serving()
        const text = yield* sendBytes(port, pieces)
        assert.deepStrictEqual(bodiesOf(text), bodies, text)
      })
    )

  it.scopedLive("A listener answers requests and handshakes in their order of arrival", () =>
    Effect.gen(function* () {
      const { port, release } = yield* serving()
      const held = "GET /held HTTP/1.1\r\nhost: a\r\n\r\n"
      const first = yield* openConnection(port, `${held}GET /a HTTP/1.1\r\n${h2c}\r\n${last}`)
      const second = yield* openConnection(port, `${held}${handshake("/b")}`)
      assert.deepStrictEqual(bodiesOf(yield* sendBytes(port, [last])), ["[/last ]"])
      yield* release
      yield* eventually(first.text, (text) => bodiesOf(text).join("") === "[/held ][/a ][/last ]")
      yield* eventually(second.text, (text) => bodiesOf(text).join("") === "[/held ][/b ]")
    })
  )

  it.scopedLive("A listener answers many upgrades on one connection without leaking listeners", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      const warnings: Array<Error> = []
      const onWarning = (warning: Error) => warnings.push(warning)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("warning", onWarning)),
        () => Effect.sync(() => process.off("warning", onWarning))
      )
      const text = yield* sendBytes(port, [`GET /a HTTP/1.1\r\n${h2c}\r\n`.repeat(30), last])
      assert.strictEqual(bodiesOf(text).length, 31)
      assert.deepStrictEqual(warnings, [])
    })
  )

  it.scopedLive("A listener closes the descriptors of disconnected clients", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      for (const bytes of [`GET /a HTTP/1.1\r\n${h2c}\r\n`, handshake("/a"), "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n"])
        yield* Effect.replicateEffect(
          Effect.scoped(
            Effect.gen(function* () {
              const { socket, text } = yield* openConnection(port, bytes)
              yield* eventually(text, (read) => read.includes("HTTP/1.1 "))
              yield* Effect.async<void>((resume) => void socket.write("x", () => resume(Effect.void)))
            })
          ),
          20,
          { concurrency: 10 }
        )
      yield* eventually(countOpenConnections(port), (count) => count === 0)
    })
  )

  it.scopedLive("A listener ends at once while a client keeps a refused handshake's connection open", () =>
    Effect.gen(function* () {
      const { close, port } = yield* serving()
      const { socket, text } = yield* openConnection(port, handshake("/a"))
      yield* eventually(text, (read) => read.includes("[/a ]"))
      socket.write("x")
      yield* Effect.timeoutFail(Fiber.join(yield* Effect.forkDaemon(close)), {
        duration: "5 seconds",
        onTimeout: () => new Error("the listener did not end")
      })
    })
  )

  it.scopedLive("A listener cuts a handshake that is not answered by the drain limit", () =>
    Effect.gen(function* () {
      const { close, port, release } = yield* serving("500 millis")
      const { socket } = yield* openConnection(port, handshake("/held"))
      const cut = yield* Effect.forkDaemon(
        Effect.async<void>((resume) => void socket.once("end", () => resume(Effect.void)))
      )
      assert.deepStrictEqual(bodiesOf(yield* sendBytes(port, [last])), ["[/last ]"])
      const closing = yield* Effect.forkDaemon(close)
      yield* Effect.timeoutFail(Fiber.join(cut), {
        duration: "5 seconds",
        onTimeout: () => new Error("the connection was not cut")
      })
      yield* release
      yield* Fiber.join(closing)
    })
  )
})

describe("A listener with pipelined requests", () => {
  const held = "GET /held HTTP/1.1\r\nhost: a\r\n\r\n"
  const refused: ReadonlyArray<readonly [string, string, string]> = [
    ["an unknown expectation", "POST /a HTTP/1.1\r\nhost: a\r\nexpect: a\r\ncontent-length: 0\r\n\r\n", "417"],
    ["CONNECT", "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", "400"]
  ]
  for (const [what, bytes, status] of refused)
    it.scopedLive(`A listener refuses ${what} after the response to the request before it`, () =>
      Effect.gen(function* () {
        const { port, release } = yield* serving()
        const { text } = yield* openConnection(port, held + bytes)
        assert.deepStrictEqual(bodiesOf(yield* sendBytes(port, [last])), ["[/last ]"])
        yield* release
        const read = yield* eventually(text, (sent) => sent.includes(` ${status} `))
        assert.match(read, new RegExp(`^HTTP/1.1 200 OK.*\\[/held \\]HTTP/1.1 ${status} `, "s"))
      })
    )

  it.scopedLive(
    "A listener processes unsafe requests in turn, and none after a response that ends the connection",
    () =>
      Effect.gen(function* () {
        const release = yield* Deferred.make<void>()
        const begun: Array<string> = []
        const built = yield* Layer.build(
          Layer.provideMerge(
            serve(({ method, url }) =>
              Effect.gen(function* () {
                begun.push(`${method} ${url}`)
                if (url === "/held") yield* Deferred.await(release)
                return HttpServerResponse.text(`[${url}]`, url === "/end" ? { headers: { connection: "close" } } : {})
              })
            ),
            listener({ headers: Duration.minutes(1), whole: Duration.minutes(1) })
          )
        )
        const port = yield* Effect.provide(portOf, built)
        const post = (path: string) => `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`
        const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
        const { text } = yield* openConnection(
          port,
          held + get("/a") + post("/b") + get("/c") + get("/d") + post("/end") + get("/e") + post("/f")
        )
        assert.match(yield* sendBytes(port, [last.replace("/last", "/end")]), /\[\/end\]/)
        assert.deepStrictEqual(begun, ["GET /held", "GET /a", "GET /end"])
        yield* Deferred.succeed(release, undefined)
        yield* eventually(text, (read) => read.includes("[/end]"))
        assert.match(yield* sendBytes(port, [last.replace("/last", "/end")]), /\[\/end\]/)
        assert.deepStrictEqual(begun.slice(3), ["POST /b", "GET /c", "GET /d", "POST /end", "GET /end"])
      })
  )
})

describe("A listener whose client disconnects", () => {
  /** Responds immediately, to `/held` never; records the paths of ended requests. */
  const recording = (answer: (request: ListenerRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse>) =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const built = yield* Layer.build(
        Layer.provideMerge(
          HttpListener.servePipeline((request) =>
            Effect.matchCauseEffect(answer(request), {
              onFailure: (cause) => writeFailure(request, cause),
              onSuccess: (response) => writeResponse(request, response)
            }).pipe(Effect.ensuring(Effect.sync(() => void ended.push(request.url))))
          ),
          HttpListener.layer({ host: "127.0.0.1", port: 0, drain: Duration.seconds(1) }).pipe(
            Layer.provide(UuidIdGenerator.layer)
          )
        )
      )
      return { port: yield* Effect.provide(portOf, built), ended: Effect.sync(() => ended.toSorted()) }
    })
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`

  it.scopedLive("A listener ends the requests whose responses wait for an earlier one of their connection", () =>
    Effect.gen(function* () {
      const { ended, port } = yield* recording(({ url }) =>
        url === "/stream"
          ? Effect.succeed(HttpServerResponse.stream(Stream.forever(Stream.make(new Uint8Array(64 * 1024)))))
          : url === "/whole"
            ? Effect.succeed(HttpServerResponse.text("whole"))
            : Effect.interruptible(Effect.never)
      )
      const { socket } = yield* openConnection(port, get("/held") + get("/whole") + get("/stream") + get("/handler"))
      assert.match(yield* sendBytes(port, [get("/whole").replace("host", "connection: close\r\nhost")]), /whole/)
      socket.destroy()
      yield* eventually(ended, (paths) => paths.length === 5)
      assert.deepStrictEqual(yield* ended, ["/handler", "/held", "/stream", "/whole", "/whole"])
    })
  )
})

describe("A listener that closes", () => {
  it.scopedLive("A listener that closes ends a kept connection after the response in flight", () =>
    Effect.gen(function* () {
      const { close, port, release } = yield* serving()
      const { socket, text } = yield* openConnection(port, "GET /held HTTP/1.1\r\nhost: a\r\n\r\n")
      const ended = Effect.async<void>((resume) => void socket.once("end", () => resume(Effect.void)))
      const cut = yield* Effect.forkDaemon(ended)
      assert.deepStrictEqual(bodiesOf(yield* sendBytes(port, [last])), ["[/last ]"])
      const closing = yield* Effect.forkDaemon(close)
      yield* eventually(isRefused(port), (refused) => refused)
      yield* release
      yield* Effect.timeoutFail(Effect.all([Fiber.join(cut), Fiber.join(closing)]), {
        duration: "5 seconds",
        onTimeout: () => new Error("the connection was kept")
      })
      assert.deepStrictEqual(bodiesOf(yield* text), ["[/held ]"])
    })
  )
})

describe("A listener with detached work", () => {
  it.scopedLive("A listener that closes waits for its detached work", () =>
    Effect.gen(function* () {
      const { close, detached, port } = yield* serving()
      const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const work = yield* FiberSet.run(detached, Effect.zipRight(Deferred.succeed(begun, undefined), go))
      yield* begun
      const closing = yield* Effect.forkDaemon(close)
      yield* eventually(isRefused(port), (refused) => refused)
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      yield* Deferred.succeed(go, undefined)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(work)))
      yield* Fiber.join(closing)
    })
  )

  it.scopedLive("A listener interrupts detached work at the drain limit", () =>
    Effect.gen(function* () {
      const { close, detached } = yield* serving("300 millis")
      const work = yield* FiberSet.run(detached, Effect.never)
      yield* Effect.timeoutFail(Fiber.join(yield* Effect.forkDaemon(close)), {
        duration: "5 seconds",
        onTimeout: () => new Error("the listener did not end")
      })
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(work)))
    })
  )
})
