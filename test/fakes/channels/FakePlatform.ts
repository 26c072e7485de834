import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { listenLocally } from "../../support/LocalServer.ts"
import { FakeRefusal } from "./JsonFields.ts"

export interface PlatformRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed JSON; null without a body. */
  readonly body: unknown
}

/** A response: JSON, bytes, or none with the connection held open or reset. */
export type FakeReply =
  | {
      readonly status: number
      readonly body?: unknown
      readonly bytes?: Uint8Array
      readonly headers?: Readonly<Record<string, string>>
    }
  | "hangs"
  | "is cut"

const html = {
  status: 502,
  bytes: Buffer.from("<html>Bad gateway</html>"),
  headers: { "content-type": "text/html" }
} as const

/** Starts a response that ends with its connection. */
const streams = {
  stalls: (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" }).write("{")
  },
  "declares too much": (response: ServerResponse) => {
    response.writeHead(200, { "content-length": String(2 ** 32) }).flushHeaders()
  },
  "sends too much": (response: ServerResponse) => {
    response.writeHead(200)
    const piece = Buffer.alloc(256 * 1024, " ")
    const go = () => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once("drain", go)
    }
    go()
  }
}
type StreamFault = keyof typeof streams
const isStreamFault = (fault: string): fault is StreamFault => fault in streams

/** Faults independent of the platform. */
export type CommonFault = "hangs" | "is cut" | "answers HTML" | StreamFault

const write = (response: ServerResponse, reply: FakeReply) => {
  if (reply === "hangs") return
  if (reply === "is cut") return void response.socket?.destroy()
  const { body, bytes, headers, status } = reply
  if (body === undefined) response.writeHead(status, headers).end(bytes)
  else response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

/**
 * The HTTP server of a fake platform. `answer` may throw a FakeRefusal; a fault replaces it for a number of requests.
 */
export const makeFakePlatform = <Fault extends string>({
  answer,
  faults
}: {
  readonly answer: (request: PlatformRequest, url: URL) => FakeReply | Promise<FakeReply>
  readonly faults: Readonly<Record<Fault, FakeReply>>
}) =>
  Effect.gen(function* () {
    const requests: Array<PlatformRequest> = []
    const state: { fault: Fault | CommonFault | null; times: number; path: RegExp } = {
      fault: null,
      times: 0,
      path: /^/
    }
    const isOwnFault = (fault: Fault | CommonFault): fault is Fault => fault in faults

    const misbehave = (response: ServerResponse, fault: Fault | CommonFault) => {
      if (isOwnFault(fault)) write(response, faults[fault])
      else if (isStreamFault(fault)) streams[fault](response)
      else write(response, fault === "hangs" || fault === "is cut" ? fault : html)
    }

    const server = createServer((incoming, response) => {
      const handle = async () => {
        const raw = (await buffer(incoming)).toString("utf8")
        const url = new URL(incoming.url ?? "/", "http://fake")
        const request: PlatformRequest = {
          method: incoming.method ?? "",
          path: url.pathname,
          headers: incoming.headers,
          body: raw === "" ? null : JSON.parse(raw)
        }
        requests.push(request)
        if (state.fault !== null && state.times > 0 && state.path.test(request.path)) {
          state.times -= 1
          misbehave(response, state.fault)
          return
        }
        try {
          write(response, await answer(request, url))
        } catch (error) {
          if (!(error instanceof FakeRefusal)) throw error
          write(response, error)
        }
      }
      handle().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
    })
    const { origin } = yield* listenLocally(server)
    return {
      server,
      origin,
      requests,
      /** Fault of the next `times` requests of a path. */
      trouble: (fault: Fault | CommonFault, times = Number.POSITIVE_INFINITY, path = /^/) => {
        state.fault = fault
        state.times = times
        state.path = path
      },
      endTrouble: () => {
        state.fault = null
      }
    }
  })
