import { Effect, Redacted } from "effect"
import { connect, createServer, type Socket } from "node:net"

/** A TCP proxy to a server of this machine; it can be closed or redirected. */
export const makeTcpProxy = (url: Redacted.Redacted, host = "127.0.0.1") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let target = new URL(Redacted.value(url))
      const inside = new Set<Socket>()
      let open = true
      let passing = true
      const server = createServer((socket) => {
        if (!open) {
          socket.destroy()
          return
        }
        const onward = connect(Number(target.port), target.hostname)
        for (const [one, other] of [
          [socket, onward],
          [onward, socket]
        ] as const) {
          inside.add(one)
          one.on("error", () => one.destroy())
          one.on("close", () => {
            inside.delete(one)
            other.destroy()
          })
          one.on("data", (chunk: Buffer) => {
            if (!passing || other.write(chunk)) return
            one.pause()
            other.once("drain", () => one.resume())
          })
          one.on("end", () => other.end())
        }
      })
      await new Promise<void>((resolve) => server.listen(0, host, resolve))
      const address = server.address()
      const through = new URL(target)
      through.searchParams.delete("host")
      through.hostname = host
      through.port = address !== null && typeof address === "object" ? String(address.port) : ""
      return {
        url: Redacted.make(through.href),
        rejectConnections: Effect.sync(() => {
          open = false
          for (const socket of inside) socket.destroy()
        }),
        acceptConnections: Effect.sync(() => {
          open = true
          passing = true
        }),
        /** Drops all traffic in both directions from now on, without closing connections. */
        dropTraffic: Effect.sync(() => {
          passing = false
        }),
        /** Redirects new connections to another server; open ones stay. */
        moveTo: (other: Redacted.Redacted) =>
          Effect.sync(() => {
            target = new URL(Redacted.value(other))
          }),
        remove: Effect.async<void>((resume) => {
          for (const socket of inside) socket.destroy()
          server.close(() => resume(Effect.void))
        })
      }
    }),
    ({ remove }) => remove
  )
