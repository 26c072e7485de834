import { Effect, type Scope } from "effect"
import type { Server } from "node:http"

/** Listens on a free port of this host; closes all connections with the scope. Returns the origin. */
export const listenLocally = (server: Server, host = "127.0.0.1"): Effect.Effect<URL, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.listen(0, host, () => resume(Effect.void))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map(() => {
      const address = server.address()
      return new URL(`http://${host}:${typeof address === "object" && address !== null ? address.port : 0}`)
    })
  )
