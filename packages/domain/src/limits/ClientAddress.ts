/**
 * Returns the limit key of an address: IPv4, including IPv4-mapped IPv6, as is; IPv6 by its /64, the smallest
 * allocation of a subscriber.
 */
export const normalizeClientAddress = (address: string): string => {
  const plain = address.trim().toLowerCase().replace(/%.*$/, "")
  if (!plain.includes(":")) return plain
  const groups = parseGroups(plain)
  const mapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff"
  if (mapped) return [groups[6], groups[7]].flatMap(toBytes).join(".")
  return `${groups.slice(0, 4).join(":")}::/64`
}

/** Returns the eight groups of an IPv6 address without leading zeros. */
const parseGroups = (address: string): ReadonlyArray<string> => {
  const [head = "", tail] = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, dottedToHex).split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const missing = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  return [...left, ...Array.from({ length: missing }, () => "0"), ...right].map((group) =>
    group.replace(/^0+(?=.)/, "")
  )
}

const dottedToHex = (_: string, ...[a, b, c, d]: ReadonlyArray<string>): string =>
  [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(":")

const toBytes = (group = "0"): ReadonlyArray<number> => {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 255]
}
