import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { listenLocally } from "../../support/LocalServer.ts"

/** Starts a server for the scope and returns its origin. The handler is created with the origin. */
export const startFakeServer = (
  listenerAt: (origin: URL) => RequestListener | Promise<RequestListener>
): Effect.Effect<URL, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = createServer()
    const origin = yield* listenLocally(server)
    server.on("request", yield* Effect.promise(async () => listenerAt(origin)))
    return origin
  })

export const sendJson = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

export const readFormBody = async (request: IncomingMessage) => new URLSearchParams(await text(request))

export type ServerFault = "hangs" | "fails" | "is cut" | "redirects" | "has no end" | "speaks no JSON"

export const respondWithFault = (response: ServerResponse, how: ServerFault): void => {
  switch (how) {
    case "hangs":
      return
    case "fails":
      return sendJson(response, 503, { error: "down" })
    case "is cut": {
      response.destroy()
      return
    }
    case "redirects": {
      response.writeHead(302, { location: "https://elsewhere.example/" }).end()
      return
    }
    case "has no end": {
      response.writeHead(200, { "content-type": "application/json" })
      const go = () => {
        while (!response.destroyed && response.write(" ".repeat(16_384)));
        if (!response.destroyed) response.once("drain", go)
      }
      return go()
    }
    case "speaks no JSON": {
      response.writeHead(200, { "content-type": "text/html" }).end("<p>Welcome</p>")
    }
  }
}
