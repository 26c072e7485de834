import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Layer } from "effect"
import { lookup } from "node:dns/promises"
import * as http from "node:http"
import * as https from "node:https"
import { isIP, type LookupFunction } from "node:net"
import { networkInterfaces } from "node:os"
import type { Readable } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { Internet, type WebPageResponse, HostUnreachable } from "./Internet.ts"

/** Resolves every name to the checked addresses. */
const makePinnedLookup =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_hostname, { all }, callback) => {
    const known = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first] = known
    if (all === true) callback(null, known)
    else callback(null, first?.address ?? "", first?.family)
  }

const codings: Readonly<Record<string, (() => NodeJS.ReadWriteStream & Readable) | undefined>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress
}

const unreachable = () => new HostUnreachable({ reason: "The host could not be reached." })

/** The decoded body. Readers count bytes after decompression. */
const decompress = (response: http.IncomingMessage): Readable => {
  const unpack = codings[(response.headers["content-encoding"] ?? "").trim().toLowerCase()]
  if (unpack === undefined) return response
  const plain = unpack()
  response.on("error", (cause) => plain.destroy(cause))
  return response.pipe(plain)
}

const toResponse = (response: http.IncomingMessage): WebPageResponse => ({
  status: response.statusCode ?? 0,
  header: (name) => {
    const value = response.headers[name]
    return typeof value === "string" ? value : (value?.[0] ?? null)
  },
  body: NodeStream.fromReadable<HostUnreachable, Uint8Array>(
    () => decompress(response),
    () => new HostUnreachable({ reason: "The page broke off in the middle." })
  )
})

const sendRequest = (url: URL, addresses: ReadonlyArray<string>): http.ClientRequest =>
  (url.protocol === "https:" ? https : http).request(url, {
    agent: false,
    lookup: makePinnedLookup(addresses),
    maxHeaderSize: 32 * 1024,
    headers: {
      accept: "text/html, text/plain;q=0.9, */*;q=0.1",
      "accept-encoding": "identity",
      "accept-language": "en, *;q=0.5",
      "user-agent": "Mozilla/5.0 (compatible; Berth agent)"
    }
  })

const get = (url: URL, addresses: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => sendRequest(url, addresses)),
    (request) =>
      Effect.sync(() => {
        request.on("error", () => {})
        request.destroy()
      })
  ).pipe(
    Effect.flatMap((request) =>
      Effect.async<http.IncomingMessage, HostUnreachable>((resume) => {
        request.on("response", (response) => resume(Effect.succeed(response)))
        request.on("error", () => resume(unreachable()))
        request.end()
      })
    ),
    Effect.map(toResponse)
  )

/** Node's resolver and client without proxy settings. */
export const layer = Layer.succeed(
  Internet,
  Internet.of({
    resolve: (host) =>
      Effect.tryPromise({
        try: () => lookup(host, { all: true, verbatim: true }),
        catch: () => new HostUnreachable({ reason: "There is no host of that name." })
      }).pipe(Effect.map((found) => found.map(({ address }) => address))),
    ownAddresses: Effect.sync(() =>
      Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
    ),
    get
  })
)
