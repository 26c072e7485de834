import { Duration } from "effect"
import type { Server } from "node:http"
import type { Socket } from "node:net"
import { newestExchange } from "./Exchanges.ts"

/** Bounds of the input that is discarded after a response. */
const lingerTime = Duration.seconds(30)
const lingerBytes = 64 * 1024 * 1024
const checkInterval = Duration.millis(250)

/**
 * Closes connections whose request has not arrived completely only after its rest, up to a bound. Closing over unread bytes
 * resets the connection, and clients that send first and read afterwards lose the response (RFC 9112, section 9.6).
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
