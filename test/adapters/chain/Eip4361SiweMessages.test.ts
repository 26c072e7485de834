import { maximumSiweMessageLength, SiweMessageMalformed, SiweParser } from "@berth/domain/signin/wallets/SiweParser"
import * as Eip4361SiweParser from "@berth/infra/chain/Eip4361SiweParser"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Either, Option } from "effect"
import { concatHex, numberToHex, parseSignature, recoverMessageAddress } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { createSiweMessage, type CreateSiweMessageParameters } from "viem/siwe"
import { measureCpuTime } from "../../support/CpuTime.ts"
import { acceptedMessages, refusedMessages } from "../../support/siwe/SiweCases.ts"
import { complete, minimal, signerKey, siweText } from "../../support/siwe/SiweText.ts"

const parse = (text: string) =>
  Effect.map(SiweParser, (messages) => messages.parse(text)).pipe(Effect.provide(Eip4361SiweParser.layer))
const at = (text: string | undefined) => Option.map(Option.fromNullable(text), DateTime.unsafeMake)

describe("SiweParser", () => {
  for (const { fields, instants, title } of acceptedMessages)
    it.effect(`SiweParser parses ${title}`, () =>
      Effect.gen(function* () {
        const { chainId, expirationTime, issuedAt, notBefore, scheme } = { ...fields, ...instants }
        const { address, domain, nonce, uri, version } = fields
        const parsed = yield* Effect.flatten(parse(siweText(fields)))
        assert.deepInclude(parsed, { domain, uri, version, nonce, chainId: Number(chainId) })
        assert.deepStrictEqual(parsed.scheme, Option.fromNullable(scheme))
        assert.strictEqual<string>(parsed.address, address)
        assert.deepStrictEqual(
          [Option.some(parsed.issuedAt), parsed.expiresAt, parsed.notBefore],
          [at(issuedAt), at(expirationTime), at(notBefore)]
        )
      })
    )

  for (const { text, title } of refusedMessages)
    it.effect(`SiweParser rejects ${title}`, () =>
      Effect.gen(function* () {
        assert.notStrictEqual(text, siweText(complete))
        assert.deepStrictEqual(yield* parse(text), Either.left(new SiweMessageMalformed()))
      })
    )

  const account = privateKeyToAccount(signerKey)
  const { expirationTime, notBefore } = complete
  const signed = {
    minimal,
    "not yet valid": { ...minimal, notBefore },
    expiring: { ...minimal, expirationTime },
    complete
  }
  for (const [title, fields] of Object.entries(signed))
    it.effect(`SiweParser parses the signer of the ${title} message, with either form of the recovery byte`, () =>
      Effect.gen(function* () {
        const message = siweText(fields)
        const { address } = yield* Effect.flatten(parse(message))
        const signature = yield* Effect.promise(() => account.signMessage({ message }))
        const { r, s, yParity } = parseSignature(signature)
        // EIP-191 writes 27 or 28; some wallets write the parity itself.
        for (const form of [signature, concatHex([r, s, numberToHex(yParity, { size: 1 })])]) {
          const signer = yield* Effect.promise(() => recoverMessageAddress({ message, signature: form }))
          assert.strictEqual<string>(signer, address)
        }
      })
    )

  const { domain, nonce, uri } = minimal
  const written = {
    address: account.address,
    domain,
    uri,
    version: "1",
    chainId: 8453,
    nonce,
    issuedAt: new Date(minimal.issuedAt)
  } satisfies CreateSiweMessageParameters
  const good = createSiweMessage(written)

  it.effect("SiweParser parses the messages that viem writes", () =>
    Effect.gen(function* () {
      assert.strictEqual(good, siweText(minimal))
      const full = createSiweMessage({
        ...written,
        scheme: complete.scheme,
        statement: complete.statement,
        expirationTime: new Date(complete.expirationTime),
        notBefore: new Date(complete.notBefore),
        requestId: complete.requestId,
        resources: complete.resources
      })
      assert.strictEqual(full, siweText(complete))
      for (const text of [good, full]) assert.isTrue(Either.isRight(yield* parse(text)), text)
    })
  )

  it.live("SiweParser parses the longest text in bounded time", () =>
    Effect.gen(function* () {
      for (const part of ["a", "%61", "a.", "1:", "[", "/", "?a=b&", "\n", "- http://a.example/x\n", "😀"]) {
        const long = part.repeat(maximumSiweMessageLength)
        for (const text of [long, good.replace(`${minimal.domain} `, `${long} `), `${good}\nResources:\n${long}`]) {
          const [took] = yield* measureCpuTime(parse(text.slice(0, maximumSiweMessageLength)))
          assert.isTrue(Duration.lessThan(took, "1 second"), part)
        }
      }
    })
  )
})
