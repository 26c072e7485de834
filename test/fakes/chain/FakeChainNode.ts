import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { listenLocally } from "../../support/LocalServer.ts"

/** Responds to a request that has been read. */
export type ChainNodeBehavior = (
  request: { readonly id: unknown; readonly method: unknown },
  response: ServerResponse
) => void

const readBody = async (request: IncomingMessage) => {
  const body: unknown = JSON.parse(await text(request))
  return typeof body === "object" && body !== null ? body : {}
}

const memberOf = (body: object, name: string): unknown => Reflect.get(body, name)

export const respondRpcResult =
  (value: unknown): ChainNodeBehavior =>
  ({ id }, response) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }))
  }

export const respondRpcError =
  (error: { readonly code: number; readonly message: string }, status = 200): ChainNodeBehavior =>
  ({ id }, response) => {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error }))
  }

/** A JSON-RPC node with base's chain id and configurable behavior, which counts its requests. */
export const makeFakeChainNode = (
  behave: ChainNodeBehavior,
  chainId = "0x2105"
): Effect.Effect<
  {
    readonly url: string
    readonly requests: Effect.Effect<ReadonlyArray<unknown>>
    /** Block parameters of the contract calls. */
    readonly blocks: Effect.Effect<ReadonlyArray<unknown>>
  },
  never,
  Scope.Scope
> =>
  Effect.suspend(() => {
    const requests: Array<unknown> = []
    const blocks: Array<unknown> = []
    const server = createServer((request, response) => {
      void readBody(request).then((body) => {
        const call = { id: memberOf(body, "id"), method: memberOf(body, "method") }
        requests.push(call.method)
        const params = memberOf(body, "params")
        if (call.method === "eth_call" && Array.isArray(params)) blocks.push(params[1])
        if (call.method === "eth_chainId") respondRpcResult(chainId)(call, response)
        else behave(call, response)
      })
    })
    return Effect.map(listenLocally(server), ({ origin }) => ({
      url: `${origin}/v2/hunter2?key=hunter2`,
      requests: Effect.sync(() => [...requests]),
      blocks: Effect.sync(() => [...blocks])
    }))
  })
