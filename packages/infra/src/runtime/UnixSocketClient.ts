import { keptConnections } from "@berth/api/runtime/RuntimeExchange"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Layer } from "effect"
import { lstatSync } from "node:fs"
import { Agent, type ClientRequestArgs } from "node:http"
import { Socket } from "node:net"
import { dirname } from "node:path"
import type { Duplex } from "node:stream"

const suffix = ".unix"

/** Returns the origin of an HTTP server on a Unix socket: its host name is the path in hexadecimal. */
export const makeSocketEndpoint = (path: string): string => `http://${Buffer.from(path).toString("hex")}${suffix}`

const parseSocketPath = (host: string | null | undefined): string | undefined =>
  host?.endsWith(suffix) === true ? Buffer.from(host.slice(0, -suffix.length), "hex").toString() : undefined

/** A link, or a socket owned by another account than its directory, could belong to another server. */
const isReplaced = (path: string): boolean => {
  const found = lstatSync(path)
  return !found.isSocket() || found.uid !== lstatSync(dirname(path)).uid
}

const findFailure = (path: string): Error | undefined => {
  try {
    return isReplaced(path) ? new Error("the socket was replaced") : undefined
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause))
  }
}

class UnixSocketAgent extends Agent {
  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void
  ): Duplex | null | undefined {
    const path = parseSocketPath(options.host)
    if (path === undefined) return super.createConnection(options, callback)
    const socket = new Socket()
    const failure = findFailure(path)
    if (failure === undefined) return socket.connect({ path })
    // Through the callback, since the request does not yet listen for errors of the socket, and an unhandled one ends
    // the process.
    setImmediate(() => callback?.(failure, socket))
    return undefined
  }
}

/** For turns at `makeSocketEndpoint` and ordinary origins. */
export const turnAgent: Agent = new UnixSocketAgent(keptConnections)
/** For everything else: a health check shows whether the socket can be reached now. */
const agent: Agent = new UnixSocketAgent()

/** An HTTP client for `makeSocketEndpoint` and ordinary origins. */
export const layer: Layer.Layer<HttpClient.HttpClient> = NodeHttpClient.layerWithoutAgent.pipe(
  Layer.provide(
    Layer.scoped(
      NodeHttpClient.HttpAgent,
      Effect.map(NodeHttpClient.makeAgent(), (agents) => ({ ...agents, http: agent }))
    )
  )
)
