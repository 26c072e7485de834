import { encodeTypedSseEvent, sseKeepAlive } from "@berth/api/http/Sse"
import { forEachBatch, readNext } from "@berth/domain/ai/streams/ChunkSource"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import * as RuntimeClient from "@berth/infra/runtime/RuntimeClient"
import { HttpClient } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { listenLocally } from "../../../../test/support/LocalServer.ts"
import { sampleTurn } from "../../../../test/support/SampleTurn.ts"

/** A client of a runtime with this response to every request. */
const clientOf = (respond: (response: ServerResponse) => void) =>
  Effect.gen(function* () {
    const url = yield* listenLocally(createServer((_, response) => respond(response)))
    const client = RuntimeClient.make(yield* HttpClient.HttpClient)
    return { client, runtime: { endpoint: url.origin, token: Redacted.make("t") } }
  })

/** Writes endlessly, as fast as the reader consumes. */
const writeForever = (response: ServerResponse, text: string) => {
  const write = () => {
    if (response.destroyed) return
    if (response.write(text)) setImmediate(write)
    else response.once("drain", write)
  }
  write()
}

const live = NodeHttpClient.layer

it.scopedLive("RuntimeClient.health fails on a body without an end", () =>
  Effect.gen(function* () {
    const { client, runtime } = yield* clientOf((response) => writeForever(response, " ".repeat(10_000)))
    assert.strictEqual((yield* Effect.flip(client.health(runtime)))._tag, "RuntimeUnresponsive")
  }).pipe(Effect.provide(live))
)

it.scopedLive(
  "RuntimeClient.measureStorage finds none of a runtime of an earlier release, and fails on other answers",
  () =>
    Effect.gen(function* () {
      const measure = (status: number, body: unknown) =>
        Effect.gen(function* () {
          const { client, runtime } = yield* clientOf((response) => {
            response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
          })
          return yield* client.measureStorage(runtime)
        })
      assert.deepStrictEqual(yield* measure(404, { error: "not_found", message: "" }), Option.none())
      assert.deepStrictEqual(yield* measure(200, { bytes: 4096 }), Option.some(4096))
      assert.strictEqual((yield* Effect.flip(measure(200, { bytes: "many" })))._tag, "RuntimeUnresponsive")
      assert.strictEqual((yield* Effect.flip(measure(500, {})))._tag, "RuntimeRequestRejected")
    }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn fails on an https endpoint that does not speak TLS", () =>
  Effect.gen(function* () {
    const { client, runtime } = yield* clientOf((response) => response.end())
    const endpoint = runtime.endpoint.replace("http:", "https:")
    assert.strictEqual(
      (yield* Effect.flip(client.turn({ ...runtime, endpoint }, sampleTurn)))._tag,
      "RuntimeUnresponsive"
    )
  }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn fails at once on a 101 response", () =>
  Effect.gen(function* () {
    const { client, runtime } = yield* clientOf(({ socket }) =>
      socket?.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n")
    )
    const failure = yield* Effect.flip(client.turn(runtime, sampleTurn))
    assert.deepInclude(failure, { _tag: "RuntimeUnresponsive", reason: "no connection (Transport)" })
  }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn reads no more than the limit of a rejection", () =>
  Effect.gen(function* () {
    const { client, runtime } = yield* clientOf((response) => {
      response.writeHead(500)
      writeForever(response, "x".repeat(10_000))
    })
    const failure = yield* Effect.flip(client.turn(runtime, sampleTurn))
    assert.deepInclude(failure, { _tag: "RuntimeRequestRejected", status: 500, message: "status 500" })
  }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn fails on garbage, on an event without an end and on text without an end", () =>
  Effect.gen(function* () {
    const outcome = (respond: (response: ServerResponse) => void) =>
      Effect.gen(function* () {
        const { client, runtime } = yield* clientOf((response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write(sseKeepAlive)
          respond(response)
        })
        const events = yield* client.turn(runtime, sampleTurn)
        return (yield* Effect.flip(forEachBatch(events, () => undefined)))._tag
      })
    const long: TurnEvent = { type: "delta", text: "x".repeat(50_000) }
    const delta = encodeTypedSseEvent(long)
    assert.strictEqual(yield* outcome((response) => writeForever(response, "data: garbage\n\n")), "Malformed")
    assert.strictEqual(yield* outcome((response) => writeForever(response, "x".repeat(50_000))), "Oversized")
    assert.strictEqual(yield* outcome((response) => writeForever(response, delta)), "Oversized")
    assert.strictEqual(yield* outcome((response) => response.end()), "Truncated")
  }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn reads a reply near the limit", () =>
  Effect.gen(function* () {
    const whole: TurnEvent = { type: "done", reply: "x".repeat(4_000_000), model: "m" }
    const { client, runtime } = yield* clientOf((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.end(encodeTypedSseEvent(whole))
    })
    assert.deepStrictEqual((yield* readNext(yield* client.turn(runtime, sampleTurn))).values, [whole])
  }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn uses the connection of a turn that was read to its end, and of no other", () =>
  Effect.gen(function* () {
    const sockets: Array<unknown> = []
    const delta: TurnEvent = { type: "delta", text: "a" }
    const done: TurnEvent = { type: "done", reply: "a", model: "m" }
    let whole = true
    const { client, runtime } = yield* clientOf((response) => {
      sockets.push(response.socket)
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(encodeTypedSseEvent(delta))
      if (whole) response.end(encodeTypedSseEvent(done))
    })
    const readTurn = Effect.scoped(
      Effect.flatMap(client.turn(runtime, sampleTurn), (events) => forEachBatch(events, () => undefined))
    )
    const leaveTurn = Effect.scoped(Effect.flatMap(client.turn(runtime, sampleTurn), readNext))
    yield* readTurn
    whole = false
    yield* leaveTurn
    whole = true
    yield* readTurn
    yield* readTurn
    assert.strictEqual(sockets[1], sockets[0])
    assert.notStrictEqual(sockets[2], sockets[0])
    assert.strictEqual(sockets[3], sockets[2])
  }).pipe(Effect.provide(live))
)

it.scopedLive("RuntimeClient.turn is sent again when its kept connection ends without a response, and only then", () =>
  Effect.gen(function* () {
    const ended = new Set<unknown>()
    let isEnding = false
    const done: TurnEvent = { type: "done", reply: "a", model: "m" }
    let received = 0
    const { client, runtime } = yield* clientOf((response) => {
      received += 1
      const { socket } = response
      if (isEnding || ended.has(socket)) return socket?.destroy()
      ended.add(socket)
      response.writeHead(200, { "content-type": "text/event-stream" }).end(encodeTypedSseEvent(done))
    })
    const send = Effect.scoped(
      Effect.flatMap(client.turn(runtime, sampleTurn), (events) => forEachBatch(events, () => undefined))
    )
    yield* send
    yield* send
    assert.strictEqual(received, 3)
    isEnding = true
    assert.strictEqual((yield* Effect.flip(send))._tag, "RuntimeUnresponsive")
    assert.strictEqual(received, 5)
  }).pipe(Effect.provide(live))
)
