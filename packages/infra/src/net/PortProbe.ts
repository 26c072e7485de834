import { Effect, Option } from "effect"
import { createServer } from "node:net"

/** Can a listener be opened there now? Gives the port (for port 0 the one that the system picked), or none when it is taken. */
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
