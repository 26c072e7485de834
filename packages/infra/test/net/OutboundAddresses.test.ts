import { assert, describe, it } from "@effect/vitest"
import { isNetwork, makeAddressPolicy } from "../../src/net/OutboundAddresses.ts"

const isPublic = makeAddressPolicy([])

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

  it("isNetwork accepts CIDR notation only", () => {
    for (const network of ["10.0.0.0/8", "fd00::/8", "127.0.0.1/32"]) assert.isTrue(isNetwork(network), network)
    for (const network of ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "example.com/8", "/8", ""])
      assert.isFalse(isNetwork(network), network)
  })
})
