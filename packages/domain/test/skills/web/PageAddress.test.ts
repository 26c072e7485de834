import { parsePageAddress } from "@berth/domain/skills/web/PageAddress"
import { assert, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const hostOf = (text: string) =>
  Either.match(parsePageAddress(text), { onLeft: (fault) => fault, onRight: ({ hostname }) => hostname })

it("parsePageAddress accepts addresses of web pages, and explains why it rejects others", () => {
  assert.strictEqual(hostOf("https://example.com/a?b#c"), "example.com")
  assert.strictEqual(hostOf(" http://example.com:8080 "), "example.com")
  assert.strictEqual(hostOf("https://[2606:4700::1]:443/"), "[2606:4700::1]")
  for (const other of ["file:///etc/passwd", "ftp://example.com", "javascript:alert(1)", "data:,x", "ws://example.com"])
    assert.include(hostOf(other), "Only addresses that begin with http")
  assert.include(hostOf("https://user@example.com"), "user or password")
  assert.include(hostOf("https://:secret@example.com"), "user or password")
  for (const port of [22, 25, 110, 993, 0, 1023]) assert.include(hostOf(`http://example.com:${port}`), "port")
  for (const nothing of ["", "example.com", "https://", "//example.com", "http://exa mple.com"])
    assert.include(hostOf(nothing), "no address")
  assert.include(hostOf(`https://example.com/${"x".repeat(2_000)}`), "longer")
})

it("parsePageAddress resolves a redirect relative to its page", () => {
  const from = new URL("https://example.com/a/b")
  assert.strictEqual(Either.getOrThrow(parsePageAddress("../c", from)).href, "https://example.com/c")
  assert.strictEqual(Either.getOrThrow(parsePageAddress("//other.example/", from)).hostname, "other.example")
  assert.isTrue(Either.isLeft(parsePageAddress("file:///etc/passwd", from)))
})

const octets = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join(".")

it.prop(
  "parsePageAddress reads every notation of an IPv4 address",
  [FastCheck.integer({ min: 0, max: 2 ** 32 - 1 })],
  ([value]) => {
    const octal = `0${octets(value)
      .split(".")
      .map((octet) => Number(octet).toString(8))
      .join(".0")}`
    for (const spelling of [octets(value), String(value), `0x${value.toString(16)}`, octal, `${octets(value)}.`])
      assert.deepStrictEqual([spelling, hostOf(`http://${spelling}/`)], [spelling, octets(value)])
  }
)

it.prop("parsePageAddress handles any text", [FastCheck.oneof(FastCheck.string(), FastCheck.webUrl())], ([text]) => {
  const target = parsePageAddress(text)
  if (Either.isRight(target)) assert.match(target.right.protocol, /^https?:$/)
})
