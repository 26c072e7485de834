import { BlockList, isIP } from "node:net"

const familyOf = (address: string) => (isIP(address) === 4 ? "ipv4" : "ipv6")

/** Whether a text is a network such as 10.0.0.0/8 or fd00::/8. */
export const isNetwork = (text: string): boolean => {
  const [, address = "", prefix = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128)
}

const listOf = (networks: ReadonlyArray<string>): BlockList => {
  const list = new BlockList()
  for (const network of networks) {
    const [address = "", prefix = ""] = network.split("/")
    list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return list
}

/** IANA special-purpose IPv4 networks, and multicast. They match IPv4-mapped IPv6 addresses too. */
const specialIpv4 = listOf([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Azure's platform services on every virtual machine.
  "168.63.129.16/32"
])
const ipv4Mapped = listOf(["::ffff:0:0/96"])
/** Public IPv6 addresses are global unicast, which excludes loopback, link-local, unique local, NAT64 and multicast. */
const globalUnicast = listOf(["2000::/3"])
/** Teredo, ORCHID and similar networks, documentation, 6to4. */
const specialIpv6 = listOf(["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"])

const isPublic = (address: string): boolean => {
  if (isIP(address) === 4) return !specialIpv4.check(address, "ipv4")
  if (ipv4Mapped.check(address, "ipv6")) return !specialIpv4.check(address, "ipv6")
  return globalUnicast.check(address, "ipv6") && !specialIpv6.check(address, "ipv6")
}

/**
 * Decides whether this service may connect to an IP address for a user: public addresses except this machine's, and
 * `allowed` networks.
 */
export const makeAddressPolicy = (
  allowed: ReadonlyArray<string>,
  ownAddresses: () => ReadonlyArray<string> = () => []
) => {
  const exceptions = listOf(allowed)
  const isOwn = (address: string) => {
    // A list compares addresses in any notation.
    const own = new BlockList()
    for (const each of ownAddresses()) own.addAddress(each, familyOf(each))
    return own.check(address, familyOf(address))
  }
  return (address: string): boolean => {
    // A zone names an interface of this host.
    if (isIP(address) === 0 || address.includes("%")) return false
    return exceptions.check(address, familyOf(address)) || (isPublic(address) && !isOwn(address))
  }
}

export type AddressPolicy = ReturnType<typeof makeAddressPolicy>
