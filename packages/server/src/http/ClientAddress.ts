import { HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { BlockList, isIP } from "node:net"
import { WebSettings } from "./WebSettings.ts"

/** Which peers are proxies of ours, from addresses and CIDR ranges. */
export const parseProxies = (entries: ReadonlyArray<string>): BlockList => {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/")
    const family = isIP(address) === 6 ? "ipv6" : "ipv4"
    if (isIP(address) === 0) continue
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

const plain = (address: string) => address.trim().replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "")
const isListed = (list: BlockList, address: string) =>
  isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")

/**
 * The client's address: the peer's, or, when the peer is a trusted proxy, the right-most hop of `X-Forwarded-For` that is
 * not one. What stands left of that hop was written by whoever it is, so it counts for nothing.
 */
export const resolveClientAddress = (peer: string, forwardedFor: string | undefined, proxies: BlockList): string => {
  const direct = plain(peer)
  if (forwardedFor === undefined || !isListed(proxies, direct)) return direct
  const hops = forwardedFor.split(",").map(plain)
  const stranger = hops.toReversed().find((hop) => !isListed(proxies, hop))
  return stranger !== undefined && isIP(stranger) !== 0 ? stranger : direct
}

/** The address behind a request. */
export const readClientAddress = (request: HttpServerRequest.HttpServerRequest, proxies: BlockList): string => {
  const peer = Option.getOrElse(request.remoteAddress, () => "unknown")
  return resolveClientAddress(peer, request.headers["x-forwarded-for"], proxies)
}

/** The address behind the current request. */
export const currentClientAddress = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { trustedProxies } = yield* WebSettings
  return readClientAddress(request, trustedProxies)
})
