import { Option } from "effect"
import { normalizeClientAddress } from "../limits/ClientAddress.ts"

/** Network of a client address: IPv4 (also mapped into IPv6) by /24, IPv6 by /64. None for a malformed address. */
export const parseClientNetwork = (address: string): Option.Option<string> => {
  const key = normalizeClientAddress(address)
  if (key.endsWith("::/64")) return Option.some(key)
  const [whole, first, second, third] = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.\d{1,3}$/.exec(key) ?? []
  return whole === undefined ? Option.none() : Option.some(`${first}.${second}.${third}.0/24`)
}
