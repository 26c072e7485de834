import { resolveClientAddress, parseProxies } from "@berth/server/http/ClientAddress"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const proxies = parseProxies(["10.0.0.0/8", "192.0.2.7", "fd00::/8", "nonsense"])

describe("resolveClientAddress", () => {
  const table: ReadonlyArray<readonly [string, string | undefined, string]> = [
    ["203.0.113.5", undefined, "203.0.113.5"],
    ["::ffff:203.0.113.5", undefined, "203.0.113.5"],
    ["203.0.113.5", "6.6.6.6", "203.0.113.5"],
    ["10.1.2.3", "6.6.6.6", "6.6.6.6"],
    ["10.1.2.3", "6.6.6.6, 203.0.113.5", "203.0.113.5"],
    ["10.1.2.3", "6.6.6.6, 203.0.113.5, 192.0.2.7", "203.0.113.5"],
    ["10.1.2.3", "garbage", "10.1.2.3"],
    ["10.1.2.3", "10.9.9.9", "10.1.2.3"],
    ["fd00::1", "2001:db8::5", "2001:db8::5"],
    ["10.1.2.3", "203.0.113.5:50123", "203.0.113.5"],
    ["10.1.2.3", "6.6.6.6, 203.0.113.5:50123, 10.9.9.9:443", "203.0.113.5"],
    ["10.1.2.3", "[2001:db8::5]:50123", "2001:db8::5"],
    ["10.1.2.3", "[2001:db8::5]", "2001:db8::5"],
    ["10.1.2.3", "[::ffff:203.0.113.5]:50123", "203.0.113.5"],
    ["10.1.2.3", "6.6.6.6, unknown", "10.1.2.3"],
    ["10.1.2.3", "6.6.6.6, unknown, 10.9.9.9", "10.9.9.9"]
  ]
  for (const [peer, forwarded, expected] of table)
    it(`${peer} with ${forwarded ?? "no header"} is ${expected}`, () =>
      assert.strictEqual(resolveClientAddress(peer, forwarded, proxies), expected))

  it.prop(
    "resolveClientAddress ignores forged hops",
    [FastCheck.string()],
    ([forged]) => resolveClientAddress("10.1.2.3", `${forged}, 203.0.113.5`, proxies) === "203.0.113.5"
  )
})
