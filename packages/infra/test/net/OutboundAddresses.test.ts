import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { isNetwork, makeAddressPolicy } from "../../src/net/OutboundAddresses.ts"

const isPublic = makeAddressPolicy([])

const octets = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join(".")
const isWithin = (value: number, network: string, prefix: number) => {
  const base = network.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0)
  return Math.floor(value / 2 ** (32 - prefix)) === Math.floor(base / 2 ** (32 - prefix))
}
/** Implemented independently of the policy, by arithmetic. */
const isSpecial = (value: number) =>
  value >= 224 * 2 ** 24 ||
  (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
    "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"
  )
    .split(" ")
    .some((range) => isWithin(value, range.split("/")[0] ?? "", Number(range.split("/")[1])))

const anyAddress = FastCheck.oneof(
  FastCheck.integer({ min: 0, max: 2 ** 32 - 1 }),
  // Near the borders of the ranges.
  FastCheck.tuple(
    FastCheck.constantFrom(0, 10, 11, 100, 126, 127, 128, 168, 169, 172, 192, 198, 203, 223, 224, 255),
    FastCheck.constantFrom(0, 15, 16, 17, 18, 19, 20, 31, 32, 51, 63, 64, 127, 128, 168, 254, 255),
    FastCheck.constantFrom(0, 1, 2, 99, 100, 113, 129, 255),
    FastCheck.nat({ max: 255 })
  ).map(([a, b, c, d]) => ((a * 256 + b) * 256 + c) * 256 + d)
)

describe("Outbound addresses", () => {
  for (const address of ["1.1.1.1", "172.15.255.255", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])
    it(`The address policy allows the public address ${address}`, () => assert.isTrue(isPublic(address)))

  for (const [kind, address] of [
    ["unspecified", "0.0.0.0"],
    ["private", "10.1.2.3"],
    ["private", "172.16.0.1"],
    ["private", "192.168.1.1"],
    ["shared (CGNAT)", "100.64.0.1"],
    ["loopback", "127.0.0.2"],
    ["link-local", "169.254.1.1"],
    ["metadata", "169.254.169.254"],
    ["metadata", "168.63.129.16"],
    ["protocol assignments", "192.0.0.170"],
    ["benchmarking", "198.19.0.1"],
    ["multicast", "224.0.0.1"],
    ["reserved", "240.0.0.1"],
    ["broadcast", "255.255.255.255"],
    ["loopback", "::1"],
    ["unspecified", "::"],
    ["IPv4-mapped loopback", "::ffff:127.0.0.1"],
    ["IPv4-mapped metadata", "::ffff:a9fe:a9fe"],
    ["IPv4-compatible", "::127.0.0.1"],
    ["NAT64", "64:ff9b::7f00:1"],
    ["local NAT64", "64:ff9b:1::a00:1"],
    ["6to4", "2002:7f00:1::"],
    ["Teredo", "2001::1"],
    ["documentation", "2001:db8::1"],
    ["unique local", "fd00:ec2::254"],
    ["link-local", "fe80::1"],
    ["link-local with a zone", "fe80::1%eth0"],
    ["multicast", "ff02::1"],
    ["malformed", "1.1.1"]
  ])
    it(`The address policy refuses the ${kind} address ${address}`, () => assert.isFalse(isPublic(address ?? "")))

  it("The address policy allows private addresses of the given networks, and no other", () => {
    const isAllowed = makeAddressPolicy(["10.1.0.0/16", "fd00::/8"])
    for (const address of ["10.1.255.255", "::ffff:10.1.0.1", "fd12::1", "1.1.1.1"])
      assert.isTrue(isAllowed(address), address)
    for (const address of ["10.2.0.1", "127.0.0.1", "fe80::1"]) assert.isFalse(isAllowed(address), address)
  })

  it("The address policy refuses public addresses of this machine in any notation, unless their network is given", () => {
    const own = () => ["1.1.1.1", "2606:4700::1"]
    const isAllowed = makeAddressPolicy([], own)
    for (const address of ["1.1.1.1", "::ffff:1.1.1.1", "2606:4700:0::1"]) assert.isFalse(isAllowed(address), address)
    for (const address of ["1.1.1.2", "2606:4700::2"]) assert.isTrue(isAllowed(address), address)
    assert.isTrue(makeAddressPolicy(["1.1.1.0/24"], own)("1.1.1.1"))
  })

  it.prop(
    "The address policy classifies IPv4 addresses as the registry does, also in IPv6 notation",
    [anyAddress],
    ([value]) => {
      const address = octets(value)
      assert.deepStrictEqual([address, isPublic(address)], [address, !isSpecial(value)])
      assert.strictEqual(isPublic(`::ffff:${address}`), !isSpecial(value))
      const [high, low] = [(value >>> 16).toString(16), (value & 0xffff).toString(16)]
      for (const embedded of [`::${high}:${low}`, `64:ff9b::${high}:${low}`, `2002:${high}:${low}::1`])
        assert.deepStrictEqual([embedded, isPublic(embedded)], [embedded, false])
    }
  )

  it("isNetwork accepts CIDR notation only", () => {
    for (const network of ["10.0.0.0/8", "fd00::/8", "127.0.0.1/32"]) assert.isTrue(isNetwork(network), network)
    for (const network of ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "example.com/8", "/8", ""])
      assert.isFalse(isNetwork(network), network)
  })
})
