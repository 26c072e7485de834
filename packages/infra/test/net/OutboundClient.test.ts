import { listenLocally } from "../../../../test/support/LocalServer.ts"
import { assert, describe, it } from "@effect/vitest"
import { makeAddressPolicy } from "../../src/net/OutboundAddresses.ts"
import { make, makeResolver, type OutboundRequest, type ResolveName } from "../../src/net/OutboundClient.ts"
import { Deferred, Effect } from "effect"
import { createSocket, type Socket } from "node:dgram"
import { Resolver } from "node:dns"
import { createServer, type RequestListener } from "node:http"

const open = (listener: RequestListener) =>
  Effect.gen(function* () {
    const requests: Array<{ readonly headers: unknown; readonly url: string | undefined }> = []
    const server = createServer((request, response) => {
      requests.push({ headers: request.headers, url: request.url })
      listener(request, response)
    })
    return { url: yield* listenLocally(server), requests }
  })

const resolveTo =
  (...addresses: ReadonlyArray<string>): ResolveName =>
  (_name, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    )

const allowed = makeAddressPolicy(["127.0.0.0/8"])
const call = (url: URL): OutboundRequest => ({
  method: "POST",
  url,
  headers: { "x-test": "1" },
  body: "{}",
  timeout: "20 seconds",
  maximumBytes: 1024
})
const named = (url: URL) => new URL(`http://receiver.example:${url.port}/`)

/** Resolves only `known.example`, to 192.0.2.7. */
const nameServer = Effect.acquireRelease(
  Effect.async<Socket>((resume) => {
    const socket = createSocket("udp4")
    socket.on("message", (query, { address, port }) => {
      const nameEnd = query.indexOf(0, 12)
      const isKnown = query.includes("known")
      const isFound = isKnown && query.readUInt16BE(nameEnd + 1) === 1
      const head = Buffer.from(query.subarray(0, nameEnd + 5))
      head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2)
      head.writeUInt16BE(isFound ? 1 : 0, 6)
      head.fill(0, 8, 12)
      const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7])
      socket.send(isFound ? Buffer.concat([head, answer]) : head, port, address)
    })
    socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
  }),
  (socket) => Effect.sync(() => socket.close())
).pipe(Effect.map((socket) => `127.0.0.1:${socket.address().port}`))

describe("OutboundClient", () => {
  it.live("OutboundClient.send returns status, headers and body, and sends no trace headers", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* open((_request, response) => response.writeHead(202, { "x-a": "b" }).end("done"))
      const response = yield* make(allowed).send(call(url)).pipe(Effect.withSpan("caller"))
      assert.deepInclude(
        { ...response, body: response.body.toString() },
        { status: 202, body: "done", isComplete: true }
      )
      assert.strictEqual(response.headers["x-a"], "b")
      assert.notProperty(requests[0]?.headers, "traceparent")
      assert.notProperty(requests[0]?.headers, "b3")
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient resolves names by the name servers", () =>
    Effect.gen(function* () {
      const resolver = new Resolver()
      resolver.setServers([yield* nameServer])
      const find = (name: string) =>
        Effect.async<unknown>((resume) =>
          makeResolver(resolver)(name, (error, addresses) => resume(Effect.succeed(error ?? addresses)))
        )
      assert.deepStrictEqual(yield* find("known.example"), [{ address: "192.0.2.7", family: 4 }])
      assert.deepInclude(yield* find("other.example"), { code: "ENOTFOUND" })
      assert.deepInclude(yield* find("localhost"), { address: "127.0.0.1", family: 4 })
    }).pipe(Effect.scoped)
  )

  for (const host of ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"])
    it.live(`OutboundClient.send makes no connection to ${host}`, () =>
      Effect.gen(function* () {
        const { requests, url } = yield* open((_request, response) => response.end())
        const failure = yield* Effect.flip(
          make(makeAddressPolicy([])).send(call(new URL(`http://${host}:${url.port}`)))
        )
        assert.strictEqual(failure._tag, "AddressNotAllowed")
        assert.lengthOf(requests, 0)
      }).pipe(Effect.scoped)
    )

  it.live("OutboundClient.send refuses a name that has changed to a private address since the last check", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* open((_request, response) => response.end())
      let answers = 0
      const rebinding: ResolveName = (name, done) => {
        answers += 1
        return resolveTo(answers === 1 ? "127.0.0.1" : "127.0.0.2")(name, done)
      }
      const { send } = make((address) => address === "127.0.0.1", rebinding)
      assert.strictEqual((yield* send(call(named(url)))).status, 200)
      assert.strictEqual((yield* Effect.flip(send(call(named(url)))))._tag, "AddressNotAllowed")
      assert.lengthOf(requests, 1)
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient.send connects to the permitted addresses of a name only", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* open((_request, response) => response.end())
      const { send } = make((address) => address === "127.0.0.1", resolveTo("10.0.0.1", "127.0.0.1"))
      assert.strictEqual((yield* send(call(named(url)))).status, 200)
      assert.lengthOf(requests, 1)
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient.send does not follow a redirect", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* open((_request, response) =>
        response.writeHead(307, { location: "/next" }).end()
      )
      assert.strictEqual((yield* make(allowed).send(call(url))).status, 307)
      assert.lengthOf(requests, 1)
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient.send reads no more of a body than its limit", () =>
    Effect.gen(function* () {
      const { url } = yield* open((_request, response) => {
        const write = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        }
        response.on("drain", write)
        response.writeHead(200)
        write()
      })
      const { body, isComplete, status } = yield* make(allowed).send(call(url))
      assert.deepStrictEqual(
        { status, isComplete, length: body.length },
        { status: 200, isComplete: false, length: 1024 }
      )
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient.send ends a body that does not at the timeout, and keeps the status", () =>
    Effect.gen(function* () {
      const { url } = yield* open((_request, response) => response.writeHead(200).write("a"))
      const { isComplete, status } = yield* make(allowed).send({ ...call(url), timeout: "100 millis" })
      assert.deepStrictEqual({ status, isComplete }, { status: 200, isComplete: false })
    }).pipe(Effect.scoped)
  )

  for (const { fault, listener, reason, timeout } of [
    { fault: "does not respond", listener: () => {}, reason: "timeout", timeout: "100 millis" },
    {
      fault: "closes the connection",
      listener: (request) => request.socket.destroy(),
      reason: "ECONNRESET",
      timeout: "20 seconds"
    },
    {
      fault: "does not speak HTTP",
      listener: (request) => request.socket.end("garbage\r\n\r\n"),
      reason: "HPE_INVALID_CONSTANT",
      timeout: "20 seconds"
    }
  ] satisfies ReadonlyArray<{
    fault: string
    listener: RequestListener
    reason: string
    timeout: "100 millis" | "20 seconds"
  }>)
    it.live(`OutboundClient.send fails with ${reason} when the receiver ${fault}`, () =>
      Effect.gen(function* () {
        const { url } = yield* open(listener)
        const failure = yield* Effect.flip(make(allowed).send({ ...call(url), timeout }))
        assert.strictEqual(failure.message, reason)
      }).pipe(Effect.scoped)
    )

  it.live("OutboundClient.open closes the connection at the end of its scope", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const { url } = yield* open((_request, response) => {
        response.once("close", () => Deferred.unsafeDone(closed, Effect.void))
        response.writeHead(200).write("a")
      })
      const { statusCode } = yield* Effect.scoped(make(allowed).open(call(url)))
      assert.strictEqual(statusCode, 200)
      yield* Effect.timeout(Deferred.await(closed), "30 seconds")
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient.send fails with ERR_INVALID_CHAR when HTTP does not permit the value of a header", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* open((_, response) => response.end())
      const { send } = make(allowed)
      for (const value of ["two\nlines", "\u20ac"]) {
        const failure = yield* Effect.flip(send({ ...call(url), headers: { "x-test": value } }))
        assert.strictEqual(failure.message, "ERR_INVALID_CHAR")
      }
      assert.lengthOf(requests, 0)
    }).pipe(Effect.scoped)
  )

  it.live("OutboundClient.send fails when nothing listens", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(open(() => {}))
      assert.strictEqual((yield* Effect.flip(make(allowed).send(call(url)))).message, "ECONNREFUSED")
    })
  )
})
