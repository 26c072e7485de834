import { AgentRuntime } from "@berth/domain/instances/AgentRuntime"
import * as BerthAgentRuntime from "@berth/infra/runtime/BerthAgentRuntime"
import { isConnectionRefused } from "@berth/infra/runtime/ConnectionRefusal"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { assert, it } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Redacted } from "effect"
import { createServer, type Socket } from "node:net"
import { freePort } from "../../../../test/support/FreePort.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { sampleTurn } from "../../../../test/support/SampleTurn.ts"

/** A server with a handler per connection. */
const serve = (onConnection: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer(onConnection)
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const failure = (port: number) =>
  Effect.gen(function* () {
    const runtime = Context.get(
      yield* Layer.build(Layer.provide(BerthAgentRuntime.layer, UnixSocketClient.layer)),
      AgentRuntime
    )
    const instance = {
      owner: UserId.make("usr_1"),
      endpoint: `http://127.0.0.1:${port}`,
      startedAt: DateTime.unsafeMake(0),
      runtimeVersion: "1"
    }
    return yield* Effect.flip(runtime.chat({ instance, token: Redacted.make("own") }, sampleTurn))
  })

it.scopedLive("A turn for an exited instance fails as unsent where nothing listens", () =>
  Effect.gen(function* () {
    const port = yield* freePort
    assert.containSubset(yield* failure(port), { _tag: "RuntimeUnreachable", unsent: true })
  })
)

it.scopedLive("A turn for an exited instance fails as possibly sent on a closed connection", () =>
  Effect.gen(function* () {
    const closes = yield* serve((socket) => socket.destroy())
    const reads = yield* serve((socket) => socket.once("data", () => socket.resetAndDestroy()))
    for (const { port } of [closes, reads])
      assert.containSubset(yield* failure(port), { _tag: "RuntimeUnreachable", unsent: false })
  })
)

it("isConnectionRefused holds for several addresses when all of them refuse", () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  const reset = Object.assign(new Error("reset"), { code: "ECONNRESET" })
  const wrapped = (cause: unknown) => new Error("fetch failed", { cause })
  assert.isTrue(isConnectionRefused(wrapped(wrapped(refused))))
  assert.isTrue(isConnectionRefused(wrapped(new AggregateError([refused, refused]))))
  assert.isFalse(isConnectionRefused(wrapped(new AggregateError([refused, reset]))))
  assert.isFalse(isConnectionRefused(wrapped(new AggregateError([]))))
  assert.isFalse(isConnectionRefused(wrapped(reset)))
  assert.isFalse(isConnectionRefused("ECONNREFUSED"))
  const endless = new Error("itself")
  endless.cause = endless
  assert.isFalse(isConnectionRefused(endless))
})
