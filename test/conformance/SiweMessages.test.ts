import { longestSiweMessage, SiweMessageIsMalformed, SiweMessages } from "@berth/domain/signin/SiweMessages"
import * as SiweParser from "@berth/infra/chain/SiweParser"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Either, Option, Schema } from "effect"
import { recoverMessageAddress } from "viem"
import { createSiweMessage, type CreateSiweMessageParameters } from "viem/siwe"
import { processorTimed } from "../support/ProcessorTime.ts"
import negative from "../support/siwe-vectors/parsing_negative.json" with { type: "json" }
import positive from "../support/siwe-vectors/parsing_positive.json" with { type: "json" }
import refused from "../support/siwe-vectors/verification_negative.json" with { type: "json" }
import verified from "../support/siwe-vectors/verification_positive.json" with { type: "json" }

/*
 * The vectors are the ones that the siwe project publishes (github.com/spruceid/siwe, test/).
 */

const Positive = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({
    message: Schema.String,
    fields: Schema.Struct({
      domain: Schema.String,
      address: Schema.String,
      uri: Schema.String,
      version: Schema.String,
      chainId: Schema.Number,
      nonce: Schema.String,
      issuedAt: Schema.String,
      expirationTime: Schema.NullishOr(Schema.String),
      notBefore: Schema.NullishOr(Schema.String)
    })
  })
})

const Verification = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({
    domain: Schema.String,
    address: Schema.TemplateLiteral("0x", Schema.String),
    statement: Schema.String,
    uri: Schema.String,
    nonce: Schema.String,
    chainId: Schema.Number,
    issuedAt: Schema.String,
    expirationTime: Schema.optional(Schema.String),
    notBefore: Schema.optional(Schema.String),
    signature: Schema.TemplateLiteral("0x", Schema.String)
  })
})
type Vector = (typeof Verification.Type)[string]

/** The text of a vector, which gives its parts. */
const textOf = (vector: Vector) =>
  [
    `${vector.domain} wants you to sign in with your Ethereum account:`,
    vector.address,
    "",
    vector.statement,
    "",
    `URI: ${vector.uri}`,
    "Version: 1",
    `Chain ID: ${vector.chainId}`,
    `Nonce: ${vector.nonce}`,
    `Issued At: ${vector.issuedAt}`,
    ...(vector.expirationTime === undefined ? [] : [`Expiration Time: ${vector.expirationTime}`]),
    ...(vector.notBefore === undefined ? [] : [`Not Before: ${vector.notBefore}`])
  ].join("\n")

const parse = (text: string) =>
  Effect.map(SiweMessages, (messages) => messages.parse(text)).pipe(Effect.provide(SiweParser.layer))
const at = (text: string | null | undefined) => Option.map(Option.fromNullable(text), DateTime.unsafeMake)

describe("SiweMessages", () => {
  for (const [name, { fields, message }] of Object.entries(Schema.decodeUnknownSync(Positive)(positive)))
    it.effect(`read what the specification allows: ${name}`, () =>
      Effect.gen(function* () {
        const parsed = yield* Effect.flatten(parse(message))
        const { address, chainId, domain, nonce, uri, version } = fields
        assert.deepInclude(parsed, { domain, uri, version, chainId, nonce })
        assert.strictEqual<string>(parsed.address, address)
        assert.deepStrictEqual(
          [Option.some(parsed.issuedAt), parsed.expiresAt, parsed.notBefore],
          [at(fields.issuedAt), at(fields.expirationTime), at(fields.notBefore)]
        )
      })
    )

  for (const [name, message] of Object.entries(negative))
    it.effect(`refuse what it does not: ${name}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* parse(message), Either.left(new SiweMessageIsMalformed()))
      })
    )

  for (const [name, vector] of Object.entries(Schema.decodeUnknownSync(Verification)(verified)))
    it.effect(`read what was signed: ${name}`, () =>
      Effect.gen(function* () {
        const message = textOf(vector)
        const { address } = yield* Effect.flatten(parse(message))
        const { signature } = vector
        const signer = yield* Effect.promise(() => recoverMessageAddress({ message, signature }))
        assert.strictEqual<string>(signer, address)
      })
    )

  // What else these vectors are refused for is not the parser's to know.
  for (const [name, vector] of Object.entries(Schema.decodeUnknownSync(Verification)(refused)))
    if (name.startsWith("invalid "))
      it.effect(`refuse a day that there is not: ${name}`, () =>
        Effect.gen(function* () {
          assert.isTrue(Either.isLeft(yield* parse(textOf(vector))))
        })
      )

  const usual = {
    domain: "localhost:3000",
    address: "0xe5A12547fe4E872D192E3eCecb76F2Ce1aeA4946",
    uri: "http://localhost:3000/login",
    version: "1",
    chainId: 8453,
    nonce: "bTyXgcQxn2htgkjJn",
    issuedAt: new Date("2026-03-01T12:00:00.000Z")
  } satisfies CreateSiweMessageParameters
  const good = createSiweMessage(usual)

  it.effect("read what viem's users sign", () =>
    Effect.gen(function* () {
      const texts = [good, createSiweMessage({ ...usual, statement: "Sign in.", scheme: "http", requestId: "r" })]
      for (const text of texts) assert.isTrue(Either.isRight(yield* parse(text)), text)
      assert.deepStrictEqual((yield* Effect.flatten(parse(texts[1] ?? ""))).scheme, Option.some("http"))
    })
  )

  // EIP-55 names these itself. One address in some thousand is such a one.
  for (const address of [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26"
  ] as const)
    it.effect(`read an address whose checksum is all of one case: ${address}`, () =>
      Effect.gen(function* () {
        const parsed = yield* Effect.flatten(parse(createSiweMessage({ ...usual, address })))
        assert.strictEqual<string>(parsed.address, address)
      })
    )

  const mutations: Readonly<Record<string, string>> = {
    "a line more": `${good}\nResources are nice`,
    "a line break at the end": `${good}\n`,
    "a text before it": `Hello\n${good}`,
    "line breaks of another kind": good.replaceAll("\n", "\r\n"),
    "a second URI": good.replace("Version: 1", "URI: http://localhost:3000/login\nVersion: 1"),
    "two nonces": good.replace(/(Nonce: .*)/, "$1\n$1"),
    "an address without its checksum": good.replace(usual.address, usual.address.toLowerCase()),
    "an address in capitals": good.replace(usual.address, `0x${usual.address.slice(2).toUpperCase()}`),
    "an address with another checksum": good.replace("0xe5A1", "0xe5a1"),
    "a statement that is not ASCII": createSiweMessage({ ...usual, statement: "Sign ïn" }),
    "a nonce that is none": good.replace(usual.nonce, "short"),
    "a nonce with a sign": good.replace(usual.nonce, "abcdefgh-jkl"),
    "a version that there is not": good.replace("Version: 1", "Version: 2"),
    "30 February": good.replace("2026-03-01T", "2026-02-30T"),
    nothing: "",
    "something else": "sign me in"
  }
  for (const [what, text] of Object.entries(mutations))
    it.effect(`refuse ${what}`, () =>
      Effect.gen(function* () {
        assert.notStrictEqual(text, good)
        assert.deepStrictEqual(yield* parse(text), Either.left(new SiweMessageIsMalformed()))
      })
    )

  it.live("take a bounded time for the longest text, whatever is in it", () =>
    Effect.gen(function* () {
      for (const piece of ["a", "%61", "a.", "1:", "[", "/", "?a=b&", "\n", "- http://a.example/x\n", "😀"]) {
        const long = piece.repeat(longestSiweMessage)
        for (const text of [long, good.replace("localhost:3000 ", `${long} `), `${good}\nResources:\n${long}`]) {
          const [took] = yield* processorTimed(parse(text.slice(0, longestSiweMessage)))
          assert.isTrue(Duration.lessThan(took, "1 second"), piece)
        }
      }
    })
  )
})
