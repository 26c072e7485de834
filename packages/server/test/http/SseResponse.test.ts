import { acceptsEventStream, respondFrames } from "@berth/server/http/SseResponse"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { createServer } from "node:http"
import { connect } from "node:net"
import { afterEach, beforeEach, vi } from "vitest"

const frame = `data: ${"x".repeat(64 * 1024)}\n\n`

/** Connects a client to an endless stream; returns whether the server has closed the connection after `steps` of 15 s. */
const isClosedAfter = (steps: number, reads: boolean) =>
  Effect.gen(function* () {
    const closed = yield* Deferred.make<void>()
    const server = createServer()
    server.on("connection", (socket) => socket.on("close", () => Deferred.unsafeDone(closed, Effect.void)))
    const context = yield* Layer.build(
      Layer.provideMerge(
        HttpServer.serve(Effect.succeed(respondFrames(Effect.succeed(Effect.succeed([frame]))))),
        NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" })
      )
    )
    const address = (yield* Effect.provide(HttpServer.HttpServer, context)).address
    if (address._tag !== "TcpAddress") return assert.fail("no TCP address")
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => connect(address.port, "127.0.0.1")),
      (socket) => Effect.sync(() => socket.destroy())
    )
    client.write("GET / HTTP/1.1\r\nHost: berth.example\r\n\r\n")
    yield* Effect.async<void>((resume) => {
      client.once("readable", () => resume(Effect.void))
    })
    if (reads) client.on("data", () => undefined)
    // Lets the buffers of both sides fill, or the client read, between the steps.
    const settle = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* Effect.repeatN(settle, 200)
    yield* Effect.repeatN(
      Effect.zipRight(
        Effect.sync(() => vi.advanceTimersByTime(15_000)),
        Effect.repeatN(settle, 20)
      ),
      steps - 1
    )
    return yield* Deferred.isDone(closed)
  })

describe("respondFrames", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())

  it.scoped("respondFrames disconnects a client that reads nothing for 60 seconds", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* isClosedAfter(8, false))
    })
  )

  it.scoped("respondFrames keeps a client that stopped reading for a shorter time", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* isClosedAfter(3, false))
    })
  )

  it.scoped("respondFrames keeps a client that reads", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* isClosedAfter(8, true))
    })
  )
})

describe("acceptsEventStream", () => {
  for (const accept of [
    "text/event-stream",
    "Text/Event-Stream; q=0.1",
    "application/json, text/event-stream",
    "application/json;q=0.5, text/event-stream;q=0.9",
    "text/event-stream;q=0.5, */*"
  ])
    it(`acceptsEventStream is true for ${accept}`, () => assert.isTrue(acceptsEventStream(accept)))

  for (const accept of [
    undefined,
    "",
    "*/*",
    "application/json",
    "text/event-stream;q=0",
    "text/event-stream;q=0.1, application/json",
    "application/json;q=0.9, text/event-stream;q=0.8"
  ])
    it(`acceptsEventStream is false for ${String(accept)}`, () => assert.isFalse(acceptsEventStream(accept)))
})
