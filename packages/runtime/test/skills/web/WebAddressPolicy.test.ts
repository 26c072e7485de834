import { admitAddresses, isPublicAddress, parseWebTarget } from "@berth/runtime/skills/web/WebAddressPolicy"
import { assert, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const hostOf = (text: string) =>
  Either.match(parseWebTarget(text), { onLeft: (fault) => fault, onRight: ({ host }) => host })

it("WebAddressPolicy accepts addresses of web pages, and explains why it rejects others", () => {
  assert.strictEqual(hostOf("https://example.com/a?b#c"), "example.com")
  assert.strictEqual(hostOf(" http://example.com:8080 "), "example.com")
  assert.strictEqual(hostOf("https://[2606:4700::1]:443/"), "2606:4700::1")
  for (const other of ["file:///etc/passwd", "ftp://example.com", "javascript:alert(1)", "data:,x", "ws://example.com"])
    assert.include(hostOf(other), "Only addresses that begin with http")
  assert.include(hostOf("https://user@example.com"), "user or password")
  assert.include(hostOf("https://:secret@example.com"), "user or password")
  for (const port of [22, 25, 110, 993, 0, 1023]) assert.include(hostOf(`http://example.com:${port}`), "port")
  for (const nothing of ["", "example.com", "https://", "//example.com", "http://exa mple.com"])
    assert.include(hostOf(nothing), "no address")
  assert.include(hostOf(`https://example.com/${"x".repeat(2_000)}`), "longer")
})

it("WebAddressPolicy resolves a redirect relative to its page", () => {
  const from = new URL("https://example.com/a/b")
  assert.strictEqual(Either.getOrThrow(parseWebTarget("../c", from)).url.href, "https://example.com/c")
  assert.strictEqual(Either.getOrThrow(parseWebTarget("//other.example/", from)).host, "other.example")
  assert.isTrue(Either.isLeft(parseWebTarget("file:///etc/passwd", from)))
})

it("WebAddressPolicy distinguishes public addresses", () => {
  for (const address of [
    "1.1.1.1",
    "8.8.8.8",
    "172.15.0.1",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.0",
    "223.255.255.255"
  ])
    assert.deepStrictEqual([address, isPublicAddress(address)], [address, true])
  for (const address of ["2606:4700:4700::1111", "2a00:1450:4001::200e", "2001:200::1", "2003::1"])
    assert.deepStrictEqual([address, isPublicAddress(address)], [address, true])
  const others =
    "0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 192.0.0.8 192.0.2.1 " +
    "198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 255.255.255.255 192.88.99.1 " +
    ":: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::1 fe80::1 fe80::1%eth0 " +
    "fc00::1 fd00:ec2::254 ff02::1 2001::1 2001:db8::1 2002:7f00:1::1 2002:a00:1:: 3fff::1 100::1 fec0::1 5f00::1 " +
    "localhost 1.2.3 127.1 0x7f000001 2130706433 1.1.1.1%1 [::1]"
  for (const address of others.split(" ")) assert.deepStrictEqual([address, isPublicAddress(address)], [address, false])
})

it("WebAddressPolicy rejects a host with one forbidden address, and addresses of this machine", () => {
  assert.deepStrictEqual(admitAddresses(["1.1.1.1", "2606:4700::1"], []), Either.right(["1.1.1.1", "2606:4700::1"]))
  assert.isTrue(Either.isLeft(admitAddresses(["1.1.1.1", "127.0.0.1"], [])))
  assert.isTrue(Either.isLeft(admitAddresses([], [])))
  assert.isTrue(Either.isLeft(admitAddresses(["1.1.1.1"], ["10.0.0.1", "1.1.1.1"])))
  assert.isTrue(Either.isLeft(admitAddresses(["2606:4700:0::1"], ["2606:4700::1"])))
  assert.isTrue(Either.isRight(admitAddresses(["1.1.1.1"], ["not an address", "::1"])))
})

const octets = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join(".")
const within = (value: number, network: string, prefix: number) => {
  const base = network.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0)
  return Math.floor(value / 2 ** (32 - prefix)) === Math.floor(base / 2 ** (32 - prefix))
}
/** Written apart from the guard, by arithmetic. */
const isSpecial = (value: number) =>
  value >= 224 * 2 ** 24 ||
  (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 " +
    "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"
  )
    .split(" ")
    .some((range) => within(value, range.split("/")[0] ?? "", Number(range.split("/")[1])))

const anyAddress = FastCheck.oneof(
  FastCheck.integer({ min: 0, max: 2 ** 32 - 1 }),
  // Near the borders of the ranges.
  FastCheck.tuple(
    FastCheck.constantFrom(0, 10, 11, 100, 126, 127, 128, 169, 172, 192, 198, 203, 223, 224, 255),
    FastCheck.constantFrom(0, 15, 16, 17, 18, 19, 20, 31, 32, 51, 63, 64, 127, 128, 168, 254, 255),
    FastCheck.constantFrom(0, 1, 2, 99, 100, 113, 255),
    FastCheck.nat({ max: 255 })
  ).map(([a, b, c, d]) => ((a * 256 + b) * 256 + c) * 256 + d)
)

it.prop("WebAddressPolicy classifies IPv4 addresses as the registry does", [anyAddress], ([value]) => {
  assert.strictEqual(isPublicAddress(octets(value)), !isSpecial(value))
  const hex = value.toString(16)
  const octal = `0${octets(value)
    .split(".")
    .map((octet) => Number(octet).toString(8))
    .join(".0")}`
  for (const spelling of [octets(value), String(value), `0x${hex}`, octal, `${octets(value)}.`])
    assert.deepStrictEqual([spelling, hostOf(`http://${spelling}/`)], [spelling, octets(value)])
})

it.prop("WebAddressPolicy rejects IPv4 addresses embedded in IPv6 ones", [anyAddress], ([value]) => {
  const [high, low] = [(value >>> 16).toString(16), (value & 0xffff).toString(16)]
  for (const clothes of [
    `::${high}:${low}`,
    `::ffff:${high}:${low}`,
    `64:ff9b::${high}:${low}`,
    `2002:${high}:${low}::1`
  ])
    assert.deepStrictEqual([clothes, isPublicAddress(clothes)], [clothes, false])
  const inBrackets = hostOf(`http://[::ffff:${octets(value)}]/`)
  assert.isFalse(isPublicAddress(inBrackets))
})

it.prop("WebAddressPolicy handles any text", [FastCheck.oneof(FastCheck.string(), FastCheck.webUrl())], ([text]) => {
  const target = parseWebTarget(text)
  if (Either.isRight(target)) assert.match(target.right.url.protocol, /^https?:$/)
  assert.strictEqual(typeof isPublicAddress(text), "boolean")
})
