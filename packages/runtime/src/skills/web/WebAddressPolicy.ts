import { Either } from "effect"
import { BlockList, isIP } from "node:net"

export interface WebTarget {
  readonly url: URL
  /** Without brackets. */
  readonly host: string
}

const maximumUrlLength = 2_000

/** Well-known web ports and unprivileged ones. */
const isWebPort = (port: number) => port === 80 || port === 443 || port >= 1024

const portOf = (url: URL) => (url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port))

/** Parses an address, or returns the reason for its rejection. `admit` judges the host. */
export const parseWebTarget = (text: string, base?: URL): Either.Either<WebTarget, string> => {
  if (text.length > maximumUrlLength) return Either.left(`The address is longer than ${maximumUrlLength} characters.`)
  const address = text.trim()
  if (!URL.canParse(address, base?.href))
    return Either.left("That is no address of a web page. It begins with https:// and a host.")
  const url = new URL(address, base?.href)
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return Either.left("Only addresses that begin with http:// or https:// can be read.")
  if (url.username !== "" || url.password !== "") return Either.left("The address must not contain a user or password.")
  if (!isWebPort(portOf(url))) return Either.left("That port is not one of web pages.")
  return Either.right({ url, host: url.hostname.replace(/^\[(.*)\]$/, "$1") })
}

const listOf = (ranges: ReadonlyArray<readonly [string, number]>, family: "ipv4" | "ipv6") => {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}

/** IANA's special-purpose IPv4 addresses that are not globally reachable, multicast, and the 6to4 relay. */
const notPublic4 = listOf(
  [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4]
  ],
  "ipv4"
)

/**
 * Global unicast. Excludes loopback, link-local, unique local, multicast, and IPv4-mapped, compatible and NAT64
 * addresses.
 */
const globalUnicast6 = listOf([["2000::", 3]], "ipv6")

/** Excluded: protocol assignments with Teredo, documentation, and 6to4. */
const notPublic6 = listOf(
  [
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["3fff::", 20]
  ],
  "ipv6"
)

/** Whether an address is public; false for malformed ones. */
export const isPublicAddress = (address: string): boolean => {
  if (address.includes("%")) return false
  switch (isIP(address)) {
    case 4:
      return !notPublic4.check(address, "ipv4")
    case 6:
      return globalUnicast6.check(address, "ipv6") && !notPublic6.check(address, "ipv6")
    default:
      return false
  }
}

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4")

/** Compares addresses in any notation. */
const isOneOf = (address: string, others: ReadonlyArray<string>): boolean => {
  const list = new BlockList()
  for (const other of others) if (isIP(other) !== 0) list.addAddress(other, familyOf(other))
  return list.check(address, familyOf(address))
}

/** Whether every address of a host is public and none is this machine's own. */
export const admitAddresses = (
  addresses: ReadonlyArray<string>,
  ownAddresses: ReadonlyArray<string>
): Either.Either<ReadonlyArray<string>, string> => {
  if (addresses.length === 0) return Either.left("The host has no address.")
  return addresses.every((address) => isPublicAddress(address) && !isOneOf(address, ownAddresses))
    ? Either.right(addresses)
    : Either.left("The host is not on the public internet, so it cannot be read.")
}
