import { requireRedis } from "@berth/infra/redis/RedisStartup"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Redacted } from "effect"
import { createServer, type Socket } from "node:net"
import { eventually } from "../../support/Eventually.ts"
import { freePort } from "../../support/FreePort.ts"

/** A server that sends one reply to every command. */
const listen = (port: number, reply: string) =>
  Effect.acquireRelease(
    Effect.async<{ readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(
          socket
            .on("error", () => undefined)
            .on("data", (chunk) => {
              const commands = chunk.toString().match(/^\*\d+\r$/gm) ?? []
              socket.write(reply.repeat(commands.length))
            })
        )
      }).listen(port, "127.0.0.1", () =>
        resume(
          Effect.succeed({
            close: () => {
              server.close()
              for (const socket of sockets) socket.destroy()
            }
          })
        )
      )
    }),
    ({ close }) => Effect.sync(close)
  )

const urlAt = (port: number) => Redacted.make(`redis://:hunter2@127.0.0.1:${port}`)

describe("requireRedis", () => {
  for (const [what, reply, remedy] of [
    [
      "a rejected password",
      "-WRONGPASS invalid username-password pair\r\n",
      /rejects the user or password; correct them/
    ],
    ["a server of another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n", /does not speak the Redis protocol/]
  ] as const)
    it.scopedLive(`requireRedis fails at once for ${what}, with the address and without the password`, () =>
      Effect.gen(function* () {
        const port = yield* freePort
        yield* listen(port, reply)
        const { message } = yield* Effect.flip(requireRedis(urlAt(port)))
        assert.match(message, remedy)
        assert.include(message, `127.0.0.1:${port}`)
        assert.notInclude(message, "hunter2")
      })
    )

  it.scopedLive("requireRedis waits for a server that is not there yet, with a line that names its address", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => lines.push(String(message)))
      const waiting = yield* Effect.fork(
        Effect.provide(requireRedis(urlAt(port)), Logger.replace(Logger.defaultLogger, logger))
      )
      yield* eventually(
        Effect.sync(() => lines.length),
        (count) => count > 0,
        { description: "a line about the wait" }
      )
      assert.include(lines[0], `Redis at 127.0.0.1:${port} does not respond yet (connect ECONNREFUSED`)
      assert.notInclude(lines.join(), "hunter2")
      yield* listen(port, "+OK\r\n")
      yield* Fiber.join(waiting)
    })
  )
})
