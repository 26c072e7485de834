import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import {
  validateSiweMessage,
  siweClockSkew,
  type SiweExpectations,
  type SiweFault,
  siweFreshness
} from "@berth/domain/signin/wallets/SiweValidation"
import type { SiweMessage } from "@berth/domain/signin/wallets/SiweMessage"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Either, FastCheck, Option } from "effect"

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const after = (seconds: number) => DateTime.add(now, { seconds })

const good: SiweMessage = {
  scheme: Option.none(),
  domain: "localhost:3000",
  address: WalletAddress.make(`0x${"ab".repeat(20)}`),
  uri: "http://localhost:3000/login?next=%2Fdashboard",
  version: "1",
  chainId: 8453,
  nonce: "abcdefgh",
  issuedAt: now,
  expiresAt: Option.none(),
  notBefore: Option.none()
}
const here: SiweExpectations = { appUrl: new URL("http://localhost:3000"), now, nonce: Option.none() }

const judged = (changes: Partial<SiweMessage>, expected: Partial<SiweExpectations> = {}) =>
  validateSiweMessage({ ...good, ...changes }, { ...here, ...expected })

const faults: ReadonlyArray<readonly [SiweFault, Partial<SiweMessage>, Partial<SiweExpectations>?]> = [
  ["other scheme", { scheme: Option.some("https") }],
  ["other domain", { domain: "localhost" }],
  ["other domain", { domain: "localhost:3001" }],
  ["other domain", { domain: "LOCALHOST:3000" }],
  ["other domain", { domain: "127.0.0.1:3000" }],
  ["other domain", { domain: "evil.example" }],
  ["other domain", { domain: "localhost:3000.evil.example" }],
  ["other domain", { domain: "localhost:3000@evil.example" }],
  ["other domain", { domain: "user@localhost:3000" }],
  ["other domain", { domain: "berth.example:443" }, { appUrl: new URL("https://berth.example") }],
  ["other uri", { uri: "https://localhost:3000/login" }],
  ["other uri", { uri: "http://localhost/login" }],
  ["other uri", { uri: "http://localhost:3000.evil.example" }],
  ["other uri", { uri: "http://localhost:3000@evil.example" }],
  ["other uri", { uri: "http://user@localhost:3000/" }],
  ["other uri", { uri: "did:key:z6Mk" }],
  ["other uri", { uri: "nothing" }],
  ["other version", { version: "2" }],
  ["other chain", { chainId: 1 }],
  ["other chain", { chainId: 84_532 }],
  ["other nonce", {}, { nonce: Option.some("ABCDEFGH") }],
  ["other nonce", {}, { nonce: Option.some("") }],
  ["issued in the future", { issuedAt: after(31) }],
  ["issued too long ago", { issuedAt: after(-601) }],
  ["expired", { expiresAt: Option.some(now) }],
  ["expired", { expiresAt: Option.some(after(-1)) }],
  ["not yet valid", { notBefore: Option.some(after(1)) }]
]

const fine: ReadonlyArray<readonly [string, Partial<SiweMessage>, Partial<SiweExpectations>?]> = [
  ["of now", {}],
  ["with our scheme", { scheme: Option.some("http") }],
  ["with our nonce", {}, { nonce: Option.some("abcdefgh") }],
  ["as old as may be", { issuedAt: after(-600) }],
  ["by a clock that is a little ahead", { issuedAt: after(30) }],
  ["that ends in a moment", { expiresAt: Option.some(after(1)) }],
  ["that has just begun", { notBefore: Option.some(now) }],
  [
    "for a host on its usual port",
    { domain: "berth.example", uri: "https://berth.example:443" },
    { appUrl: new URL("https://berth.example/app") }
  ]
]

describe("validateSiweMessage", () => {
  for (const [name, message, expected] of fine)
    it(`validateSiweMessage accepts ${name}`, () => assert.deepStrictEqual(judged(message, expected), Either.void))

  for (const [fault, message, expected] of faults)
    it(`validateSiweMessage rejects ${JSON.stringify({ ...message, ...expected })}: ${fault}`, () =>
      assert.deepStrictEqual(judged(message, expected), Either.left(fault)))

  it.prop(
    "validateSiweMessage accepts a message exactly while it is fresh",
    [FastCheck.integer({ min: -2_000, max: 2_000 })],
    ([seconds]) => {
      const isFresh = seconds <= Duration.toSeconds(siweClockSkew) && -seconds <= Duration.toSeconds(siweFreshness)
      assert.strictEqual(Either.isRight(judged({ issuedAt: after(seconds) })), isFresh)
    }
  )

  it.prop(
    "validateSiweMessage rejects messages of every other address",
    [FastCheck.domain(), FastCheck.webPath(), FastCheck.nat(100_000)],
    ([domain, path, chainId]) => {
      assert.isTrue(Either.isLeft(judged({ domain })))
      assert.isTrue(Either.isLeft(judged({ uri: `http://${domain}${path}` })))
      assert.strictEqual(Either.isRight(judged({ chainId })), chainId === 8453)
    }
  )
})
