// Portkey's published gateway on a free local port, which is sent to the parent process.
import { Server } from "node:net"

const { listen } = Server.prototype
Server.prototype.listen = function (port, host, ready) {
  this.once("listening", () => process.send?.(this.address().port))
  return listen.call(this, port, "127.0.0.1", typeof host === "function" ? host : ready)
}
process.once("disconnect", () => process.exit())
process.argv.push("--headless", "--port=0")
await import("@portkey-ai/gateway/build/start-server.js")
