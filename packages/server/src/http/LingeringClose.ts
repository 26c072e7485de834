import { Duration } from "effect"
import type { Server } from "node:http"
import type { Socket } from "node:net"
import { newestExchange } from "./Exchanges.ts"

/** Limits of the input that is discarded after a response. */
const lingerTime = Duration.seconds(30)
const lingerBytes = 64 * 1024 * 1024
const checkInterval = Duration.millis(250)

/**
 * Delays the close of a connection with an incomplete request until the rest has arrived, within limits. A close with
 * unread bytes resets the connection, and clients that send before they read lose the response (RFC 9112, section 9.6).
 */
export const lingerOnClose = (server: Server): void => {
  server.on("connection", (socket: Socket) => {
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      const request = newestExchange(socket)?.request
      if (request === undefined || request.complete || socket.destroyed) {
        destroySoon()
        return
      }
      const deadline = performance.now() + Duration.toMillis(lingerTime)
      const limit = socket.bytesRead + lingerBytes
      const check = setInterval(() => {
        if (performance.now() > deadline || socket.bytesRead > limit) socket.destroy()
      }, Duration.toMillis(checkInterval)).unref()
      socket.once("close", () => clearInterval(check))
      request.once("end", destroySoon).once("close", destroySoon)
      socket.end()
      request.resume()
    }
  })
}
