import { Duration } from "effect"
import type { Duplex } from "node:stream"

/** Time to send the response before the connection is destroyed. */
const grace = Duration.seconds(1)

/**
 * Ends a connection without a parser and discards its input, since a close with unread bytes would lose the response.
 */
export const endSocket = (socket: Duplex, lastBytes?: Uint8Array): void => {
  if (lastBytes === undefined) socket.end()
  else socket.end(lastBytes)
  socket.resume()
  const cut = setTimeout(() => socket.destroy(), Duration.toMillis(grace)).unref()
  socket.once("close", () => clearTimeout(cut))
}
