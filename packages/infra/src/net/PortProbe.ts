import { Effect, Option } from "effect"
import { createServer } from "node:net"

/**
 * Checks whether a listener can be opened. Returns its port, chosen by the system for port 0; none if the port is in
 * use.
 */
export const findBindablePort = (port: number, host: string): Effect.Effect<Option.Option<number>> =>
  Effect.async((resume) => {
    const probe = createServer()
    probe.once("error", () => resume(Effect.succeedNone))
    probe.listen({ port, host }, () => {
      const address = probe.address()
      const bound = address !== null && typeof address === "object" ? Option.some(address.port) : Option.none()
      probe.close(() => resume(Effect.succeed(bound)))
    })
  })
