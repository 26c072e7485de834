import { Duration } from "effect"
import type { Duplex } from "node:stream"

/** Time for the answer to arrive before the connection is cut, however much the client still sends. */
const grace = Duration.seconds(1)

/**
 * Ends a connection that no parser reads. Its input is discarded: closing over unread bytes would reset the connection and lose
 * the answer, and a paused socket never sees its client leave.
 */
export const endSocket = (socket: Duplex, lastBytes?: Uint8Array): void => {
  if (lastBytes === undefined) socket.end()
  else socket.end(lastBytes)
  socket.resume()
  const cut = setTimeout(() => socket.destroy(), Duration.toMillis(grace)).unref()
  socket.once("close", () => clearTimeout(cut))
}
