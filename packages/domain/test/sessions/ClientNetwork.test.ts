import { parseClientNetwork } from "@berth/domain/sessions/ClientNetwork"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

describe("parseClientNetwork", () => {
  const known: ReadonlyArray<readonly [string, string]> = [
    ["203.0.113.77", "203.0.113.0/24"],
    ["::ffff:203.0.113.77", "203.0.113.0/24"],
    ["::ffff:cb00:714d", "203.0.113.0/24"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"]
  ]
  for (const [address, network] of known)
    it(`parseClientNetwork returns ${network} for ${address}`, () =>
      assert.deepStrictEqual(parseClientNetwork(address), Option.some(network)))

  it("parseClientNetwork returns none for a malformed address", () => {
    for (const text of ["", "unknown", "1.2.3", "1.2.3.4.5", "a.b.c.d"])
      assert.deepStrictEqual(parseClientNetwork(text), Option.none(), text)
  })

  it("parseClientNetwork returns the same network for every host in it", () => {
    const byte = FastCheck.integer({ min: 0, max: 255 })
    const group = FastCheck.integer({ min: 0, max: 0xffff }).map((number) => number.toString(16))
    FastCheck.assert(
      FastCheck.property(byte, byte, byte, byte, byte, (a, b, c, one, other) => {
        assert.deepStrictEqual(
          parseClientNetwork(`${a}.${b}.${c}.${one}`),
          parseClientNetwork(`${a}.${b}.${c}.${other}`)
        )
      })
    )
    FastCheck.assert(
      FastCheck.property(
        FastCheck.tuple(group, group, group, group),
        FastCheck.tuple(group, group, group, group),
        (network, host) => {
          const address = (last: ReadonlyArray<string>) => [...network, ...last].join(":")
          // Addresses of ::ffff:0:0/96 are IPv4.
          if (network.every((part) => part === "0")) return
          assert.deepStrictEqual(parseClientNetwork(address(host)), parseClientNetwork(address(["0", "0", "0", "1"])))
        }
      )
    )
  })
})
