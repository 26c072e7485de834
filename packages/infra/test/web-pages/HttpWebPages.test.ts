import { maximumPageBytes, pageTimeLimit, WebPages } from "@berth/domain/skills/web/WebPages"
import * as OutboundClient from "@berth/infra/net/OutboundClient"
import * as HttpWebPages from "@berth/infra/web-pages/HttpWebPages"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Layer, Stream, TestClock } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"
import { listenLocally } from "../../../../test/support/LocalServer.ts"

type Answer = (response: ServerResponse, path: string) => void

const page: Answer = (response) => response.setHeader("content-type", "text/html").end("<p>text")
const redirectTo =
  (location: string, status = 302): Answer =>
  (response) =>
    response.writeHead(status, { location }).end()

/** Hosts on this server, which the policy accepts as public, and hosts with the given addresses. */
const makeWeb = (sites: Readonly<Record<string, Answer>>, elsewhere: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const server = createServer((request, response) => {
      const [host = ""] = (request.headers.host ?? "").split(":")
      seen.push(`${host}${request.url}`)
      const answer = sites[host] ?? ((missing) => missing.writeHead(404).end())
      answer(response, request.url ?? "")
    })
    const { port } = yield* listenLocally(server)
    const client = OutboundClient.make(
      (address) => address === "127.0.0.1",
      (name, done) => {
        const address = elsewhere[name] ?? (name in sites ? "127.0.0.1" : undefined)
        if (address === undefined) done(Object.assign(new Error("no name"), { code: "ENOTFOUND" }), [])
        else done(null, [{ address, family: 4 }])
      }
    )
    const { open } = yield* Effect.provide(
      WebPages,
      Layer.provide(HttpWebPages.layer, Layer.succeed(OutboundClient.OutboundClient, client))
    )
    /** Address, type and text of a page, or the reason. */
    const read = (address: string) =>
      open(address.replace(/^(https?:\/\/[^/:]+)\//, `$1:${port}/`)).pipe(
        Effect.flatMap(({ body, contentType, url }) =>
          Effect.map(
            Stream.runCollect(body),
            (pieces) =>
              `${url.hostname}${url.pathname} ${contentType} ${Buffer.concat(Chunk.toReadonlyArray(pieces)).toString()}`
          )
        ),
        Effect.catchTag("PageNotReadable", ({ reason }) => Effect.succeed(reason)),
        Effect.scoped
      )
    return { read, seen, port }
  })

it.scopedLive("HttpWebPages reads a page, also a compressed one", () =>
  Effect.gen(function* () {
    const { read } = yield* makeWeb({
      "site.example": page,
      "packed.example": (response) =>
        response
          .writeHead(200, { "content-encoding": "gzip", "content-type": "text/plain" })
          .end(gzipSync("packed ".repeat(3)))
    })
    assert.strictEqual(yield* read("http://site.example/a"), "site.example/a text/html <p>text")
    assert.strictEqual(yield* read("http://packed.example/"), "packed.example/ text/plain packed packed packed ")
  })
)

it.scopedLive("HttpWebPages follows redirects to admitted hosts only, five at most", () =>
  Effect.gen(function* () {
    const port: { now?: string } = {}
    const { read, seen, ...web } = yield* makeWeb(
      {
        "site.example": (response, path) => {
          const targets: Readonly<Record<string, string>> = {
            "/first": "/second",
            "/second": `http://other.example:${port.now}/third`,
            "/in": "http://inside.example:8080/secret",
            "/metadata": "http://169.254.169.254/latest",
            "/file": "file:///etc/passwd",
            "/port": "http://other.example:22/",
            "/loop": "/loop",
            "/nowhere": "http://[oops"
          }
          const target = targets[path]
          if (target === undefined) page(response, path)
          else redirectTo(target, path === "/first" ? 301 : 307)(response, path)
        },
        "other.example": page
      },
      { "inside.example": "10.0.0.1" }
    )
    port.now = web.port
    assert.strictEqual(yield* read("http://site.example/first"), "other.example/third text/html <p>text")
    for (const [path, reason] of [
      ["/in", "The host is not on the public internet, so it cannot be read."],
      ["/metadata", "The host is not on the public internet, so it cannot be read."],
      ["/file", "Only addresses"],
      ["/port", "port"],
      ["/nowhere", "no address"]
    ] as const)
      assert.include(yield* read(`http://site.example${path}`), reason)
    const before = seen.length
    assert.include(yield* read("http://site.example/loop"), "more than 5 times")
    assert.strictEqual(seen.length - before, 6)
  })
)

it.scopedLive("HttpWebPages explains a page that cannot be read", () =>
  Effect.gen(function* () {
    const { read } = yield* makeWeb(
      {
        "png.example": (response) => response.setHeader("content-type", "image/png").end("x"),
        "zip.example": (response) => response.setHeader("content-type", "application/octet-stream").end("x"),
        "json.example": (response) => response.setHeader("content-type", "application/ld+json").end("{}"),
        "down.example": (response) => response.socket?.destroy(),
        "error.example": (response) => response.writeHead(500).end(),
        "cut.example": (response) => {
          response.writeHead(200, { "content-length": 1_000, "content-type": "text/plain" }).write("half")
          setImmediate(() => response.destroy())
        }
      },
      { "inside.example": "192.168.0.1" }
    )
    for (const [address, reason] of [
      ["http://png.example/", "That is not text but a file of another kind, which cannot be read."],
      ["http://zip.example/", "That is not text but a file of another kind, which cannot be read."],
      ["http://json.example/", "json.example/ application/ld+json {}"],
      ["http://down.example/", "The host could not be reached."],
      ["http://error.example/", "The page answered with status 500."],
      ["http://cut.example/", "The page broke off in the middle."],
      ["http://nowhere.example/", "There is no host of that name."],
      ["http://inside.example/", "The host is not on the public internet, so it cannot be read."],
      ["http://[::1]/", "The host is not on the public internet, so it cannot be read."],
      ["http://10.0.0.1/", "The host is not on the public internet, so it cannot be read."],
      ["gopher://site.example", "Only addresses that begin with http:// or https:// can be read."]
    ] as const)
      assert.deepStrictEqual([address, yield* read(address)], [address, reason])
  })
)

it.scopedLive("HttpWebPages receives no more of an endless page than its limit", () =>
  Effect.gen(function* () {
    const { read } = yield* makeWeb({
      "endless.example": (response) => {
        const write = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, "x")));
        }
        response.on("drain", write).writeHead(200, { "content-type": "text/plain" })
        write()
      }
    })
    const text = yield* read("http://endless.example/")
    assert.strictEqual(text.length, maximumPageBytes + "endless.example/ text/plain ".length)
  })
)

it.effect("HttpWebPages gives up on a host that does not answer in time", () =>
  Effect.gen(function* () {
    const { open } = yield* Effect.provide(
      WebPages,
      Layer.provide(HttpWebPages.layer, Layer.mock(OutboundClient.OutboundClient, { open: () => Effect.never }))
    )
    const reason = yield* Effect.fork(Effect.flip(Effect.scoped(open("http://slow.example/"))))
    yield* TestClock.adjust(pageTimeLimit)
    assert.strictEqual((yield* Fiber.join(reason)).reason, "The page did not end in time.")
  })
)
