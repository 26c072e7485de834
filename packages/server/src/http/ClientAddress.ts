import type { HttpServerRequest } from "@effect/platform"
import { Option } from "effect"
import { BlockList, isIP } from "node:net"

/** Parses trusted proxies from addresses and CIDR ranges. */
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

/** Some proxies append the port (`192.0.2.1:1234`, `[2001:db8::1]:1234`). */
const withoutPort = (hop: string) =>
  /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1")
const plain = (hop: string) => withoutPort(hop.trim()).replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "")
const isListed = (list: BlockList, address: string) =>
  isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")

/**
 * Returns the address of the peer or, behind a trusted proxy, of the right-most untrusted hop of `X-Forwarded-For`;
 * hops to its left can be forged.
 */
export const resolveClientAddress = (peer: string, forwardedFor: string | undefined, proxies: BlockList): string => {
  const direct = plain(peer)
  if (forwardedFor === undefined || !isListed(proxies, direct)) return direct
  const hops = [...forwardedFor.split(",").map(plain), direct].toReversed()
  const index = hops.findIndex((hop) => !isListed(proxies, hop))
  const client = hops[index] ?? direct
  // A proxy that reports `unknown` counts as the client.
  return isIP(client) !== 0 ? client : (hops[index - 1] ?? direct)
}

export const readClientAddress = (request: HttpServerRequest.HttpServerRequest, proxies: BlockList): string => {
  const peer = Option.getOrElse(request.remoteAddress, () => "unknown")
  return resolveClientAddress(peer, request.headers["x-forwarded-for"], proxies)
}
