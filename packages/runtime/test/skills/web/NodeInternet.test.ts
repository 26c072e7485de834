import { Internet, type WebPageResponse } from "@berth/runtime/skills/web/Internet"
import * as NodeInternet from "@berth/runtime/skills/web/NodeInternet"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, type Scope, Stream } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"

const server = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
      const made = createServer(answer)
      made.listen(0, "127.0.0.1", () => {
        const address = made.address()
        resume(
          Effect.succeed({
            port: typeof address === "object" && address !== null ? address.port : 0,
            close: () => {
              made.close()
              made.closeAllConnections()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const textOf = (response: WebPageResponse) =>
  response.body.pipe(
    Stream.runCollect,
    Effect.map((pieces) => Buffer.concat(Chunk.toArray(pieces)).toString("utf8"))
  )

const test = <E>(name: string, body: (net: Internet["Type"]) => Effect.Effect<void, E, Scope.Scope>) =>
  it.scopedLive(`NodeInternet ${name}`, () => Effect.provide(Effect.flatMap(Internet, body), NodeInternet.layer))

test("connects to the addresses it is given, whatever the name says", (net) =>
  Effect.gen(function* () {
    const seen: Array<string | undefined> = []
    const { port } = yield* server((request, response) => {
      seen.push(request.headers.host)
      response.setHeader("location", "/x").end("pinned")
    })
    // A name that no resolver knows.
    const response = yield* net.get(new URL(`http://berth.invalid:${port}/page`), ["127.0.0.1"])
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.header("location"), "/x")
    assert.strictEqual(response.header("nothing"), null)
    assert.strictEqual(yield* textOf(response), "pinned")
    assert.deepStrictEqual(seen, [`berth.invalid:${port}`])
  }))

test("decompresses responses as a stream", (net) =>
  Effect.gen(function* () {
    const { port } = yield* server((_, response) => {
      response.setHeader("content-encoding", "gzip").end(gzipSync("packed ".repeat(10_000)))
    })
    const response = yield* net.get(new URL(`http://berth.invalid:${port}/`), ["127.0.0.1"])
    assert.strictEqual((yield* textOf(response)).length, 70_000)
  }))

test("disconnects when enough was read", (net) =>
  Effect.gen(function* () {
    let sent = 0
    let left: () => void = () => {}
    const gone = new Promise<void>((resolve) => (left = resolve))
    const { port } = yield* server((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) sent += 64 * 1024
      }
      response.on("drain", more)
      response.on("close", left)
      more()
    })
    yield* Effect.scoped(
      Effect.flatMap(net.get(new URL(`http://berth.invalid:${port}/`), ["127.0.0.1"]), ({ body }) =>
        Stream.runDrain(Stream.take(body, 3))
      )
    )
    yield* Effect.promise(() => gone).pipe(Effect.timeout("30 seconds"))
    assert.isBelow(sent, 20 * 1024 * 1024)
  }))

test("fails with a sentence", (net) =>
  Effect.gen(function* () {
    const { port } = yield* server((request, response) => {
      if (request.url === "/cut") {
        response.writeHead(200, { "content-length": 1_000 }).write("half")
        setImmediate(() => response.destroy())
      } else request.socket.destroy()
    })
    const at = (path: string) => net.get(new URL(`http://berth.invalid:${port}${path}`), ["127.0.0.1"])
    assert.containSubset(yield* Effect.flip(at("/")), { reason: "The host could not be reached." })
    assert.containSubset(yield* Effect.flip(net.get(new URL("http://berth.invalid:1/"), ["127.0.0.1"])), {
      reason: "The host could not be reached."
    })
    assert.containSubset(yield* Effect.flip(Effect.flatMap(at("/cut"), textOf)), {
      reason: "The page broke off in the middle."
    })
    assert.containSubset(yield* Effect.flip(net.resolve("berth.invalid")), { reason: "There is no host of that name." })
    assert.deepStrictEqual(yield* net.resolve("127.0.0.1"), ["127.0.0.1"])
    assert.include(yield* net.ownAddresses, "127.0.0.1")
  }))
