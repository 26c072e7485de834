import { Option } from "effect"
import { normalizeClientAddress } from "../limits/ClientAddress.ts"

/**
 * The network of a client address, which tells an owner his own sign-ins from others' and names no single machine: IPv4 by
 * /24, also when it is mapped into IPv6, and IPv6 by /64. None for what is no address.
 */
export const parseClientNetwork = (address: string): Option.Option<string> => {
  const key = normalizeClientAddress(address)
  if (key.endsWith("::/64")) return Option.some(key)
  const [whole, first, second, third] = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.\d{1,3}$/.exec(key) ?? []
  return whole === undefined ? Option.none() : Option.some(`${first}.${second}.${third}.0/24`)
}
