import { normalizeClientAddress } from "@berth/domain/limits/ClientAddress"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const byte = FastCheck.integer({ min: 0, max: 255 })
const ipv4 = FastCheck.tuple(byte, byte, byte, byte)
const group = FastCheck.oneof(
  { weight: 2, arbitrary: FastCheck.integer({ min: 0, max: 0xffff }) },
  { weight: 1, arbitrary: FastCheck.constant(0) }
)
const groups = (length: number) => FastCheck.array(group, { minLength: length, maxLength: length })

/**
 * One of the notations of the groups: padded or not, upper or lower case, the run of zeros at `from` omitted or not.
 */
const written = (all: ReadonlyArray<number>, style: { padded: boolean; upper: boolean; from: number }): string => {
  const hex = all.map((value) => value.toString(16).padStart(style.padded ? 4 : 1, "0"))
  const run = all.slice(style.from).findIndex((value) => value !== 0)
  const end = run === -1 ? 8 : style.from + run
  const text = end > style.from ? `${hex.slice(0, style.from).join(":")}::${hex.slice(end).join(":")}` : hex.join(":")
  return style.upper ? text.toUpperCase() : text
}
const style = FastCheck.record({
  padded: FastCheck.boolean(),
  upper: FastCheck.boolean(),
  from: FastCheck.integer({ min: 0, max: 7 })
})

const isMapped = (all: ReadonlyArray<number>) => all.slice(0, 5).every((value) => value === 0) && all[5] === 0xffff

describe("normalizeClientAddress", () => {
  it.prop("normalizeClientAddress keeps IPv4 addresses, also mapped into IPv6", [ipv4, style], ([bytes, how]) => {
    const [a, b, c, d] = bytes
    const dotted = bytes.join(".")
    assert.strictEqual(normalizeClientAddress(dotted), dotted)
    assert.strictEqual(normalizeClientAddress(`::ffff:${dotted}`), dotted)
    assert.strictEqual(normalizeClientAddress(`::FFFF:${dotted}`), dotted)
    assert.strictEqual(normalizeClientAddress(`0:0:0:0:0:ffff:${dotted}`), dotted)
    assert.strictEqual(normalizeClientAddress(written([0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d], how)), dotted)
  })

  it.prop(
    "normalizeClientAddress returns one key for a /64 network in any notation",
    [groups(4), groups(4), groups(4), style, style],
    (sample) => {
      const [network, host, otherHost, how, otherHow] = sample
      const address = [...network, ...host]
      const neighbor = [...network, ...otherHost]
      FastCheck.pre(!isMapped(address) && !isMapped(neighbor))
      assert.strictEqual(
        normalizeClientAddress(written(address, how)),
        normalizeClientAddress(written(neighbor, otherHow))
      )
      assert.strictEqual(
        normalizeClientAddress(`${written(address, how)}%eth0`),
        normalizeClientAddress(written(address, how))
      )
    }
  )

  it.prop(
    "normalizeClientAddress returns different keys for different /64 networks",
    [groups(4), groups(4), groups(4), style],
    ([network, other, host, how]) => {
      FastCheck.pre(network.join() !== other.join())
      const [one, two] = [
        [...network, ...host],
        [...other, ...host]
      ]
      FastCheck.pre(!isMapped(one) && !isMapped(two))
      assert.notStrictEqual(normalizeClientAddress(written(one, how)), normalizeClientAddress(written(two, how)))
    }
  )

  it("normalizeClientAddress distinguishes loopback, unspecified and embedded IPv4 addresses", () => {
    const keys = ["127.0.0.1", "::1", "64:ff9b::10.0.0.1", "1.2.3.4", "2001:db8::"].map(normalizeClientAddress)
    assert.strictEqual(new Set(keys).size, keys.length)
    assert.strictEqual(normalizeClientAddress("2001:0DB8::1"), "2001:db8:0:0::/64")
  })

  it.prop("normalizeClientAddress accepts any text", [FastCheck.string()], ([text]) => {
    assert.isString(normalizeClientAddress(text))
  })
})
