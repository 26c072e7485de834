import { createServer, type RequestListener } from "node:http"

/** Runs a server on a free local port, sends the port to the parent process, and ends with it. */
export const serveUntilParentExits = (handle: RequestListener): void => {
  const server = createServer(handle)
  process.once("disconnect", () => process.exit())
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    if (typeof address === "object") process.send?.(address?.port)
  })
}
