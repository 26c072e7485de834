import { AccessTokens } from "@berth/domain/sessions/AccessTokens"
import { SessionId } from "@berth/domain/sessions/Session"
import * as JoseAccessTokens from "@berth/infra/crypto/JoseAccessTokens"
import { generateJwtKey, parseJwtKey } from "@berth/infra/crypto/JwtKey"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Either, FastCheck, Layer, Redacted, TestClock } from "effect"
import {
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  importJWK,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
  SignJWT
} from "jose"
import { createPublicKey, createSecretKey, type KeyObject, sign } from "node:crypto"
import { UserId } from "@berth/domain/shared/UserId"

const issuer = "https://berth.example"
const audience = "https://berth.example/api"
const newKey = () => Either.getOrThrow(parseJwtKey(generateJwtKey()))
const key = newKey()
const otherKey = Redacted.value(newKey())
const tokensOf = (more: Partial<JoseAccessTokens.JoseAccessTokensOptions> = {}) =>
  JoseAccessTokens.layer({ key, issuer, audience, ...more })

const claims = { userId: UserId.make("usr_1"), sessionId: SessionId.make("ses_1") }
const start = DateTime.unsafeMake("2026-03-01T12:00:00.700Z")
const at = (seconds: number) => TestClock.setTime(start.epochMillis + seconds * 1000)
const second = Math.floor(start.epochMillis / 1000)

const issued = Effect.flatMap(AccessTokens, ({ issue }) => issue(claims))
const verify = (token: string) => Effect.flatMap(AccessTokens, (tokens) => tokens.verify(Redacted.make(token)))
const refusal = (token: string) => Effect.map(Effect.flip(verify(token)), ({ reason }) => reason)

describe("AccessTokens", () => {
  it.effect("AccessTokens are valid for fifteen minutes for their user", () =>
    Effect.gen(function* () {
      yield* at(0)
      const { expiresAt, token } = yield* issued
      assert.strictEqual(DateTime.formatIso(expiresAt), "2026-03-01T12:15:00.000Z")
      assert.isBelow(Redacted.value(token).length, 600)
      for (const seconds of [0, 1, 899]) {
        yield* at(seconds)
        assert.deepStrictEqual(yield* verify(Redacted.value(token)), claims)
      }
      for (const seconds of [900, 901, 86_400]) {
        yield* at(seconds)
        assert.strictEqual(yield* refusal(Redacted.value(token)), "ERR_JWT_EXPIRED")
      }
      assert.notInclude(JSON.stringify(token), "ey")
    }).pipe(Effect.provide(tokensOf()))
  )

  it.effect("AccessTokens contain the claims of RFC 9068 and the session, and nothing else", () =>
    Effect.gen(function* () {
      yield* at(0)
      const token = Redacted.value((yield* issued).token)
      const { publicKeys } = yield* AccessTokens
      const { jti, ...payload } = decodeJwt(token)
      assert.notStrictEqual(jti, decodeJwt(Redacted.value((yield* issued).token)).jti)
      assert.deepStrictEqual(payload, {
        client_id: "berth",
        iss: issuer,
        aud: audience,
        sub: "usr_1",
        sid: "ses_1",
        iat: second,
        exp: second + 900
      })
      assert.deepStrictEqual(decodeProtectedHeader(token), {
        alg: "EdDSA",
        typ: "at+jwt",
        kid: publicKeys[0]?.kid ?? ""
      })
    }).pipe(Effect.provide(tokensOf()))
  )

  it.effect("AccessTokens can be verified with the public keys, which disclose no private one", () =>
    Effect.gen(function* () {
      yield* at(0)
      const token = Redacted.value((yield* issued).token)
      const { publicKeys } = yield* AccessTokens
      assert.lengthOf(publicKeys, 1)
      const { d } = yield* Effect.promise(() => exportJWK(Redacted.value(key)))
      assert.isString(d)
      assert.notInclude(JSON.stringify(publicKeys), d ?? "")
      const [jwk] = publicKeys
      const { payload } = yield* Effect.promise(async () =>
        jwtVerify(token, await importJWK({ ...jwk }, "EdDSA"), {
          issuer,
          audience,
          currentDate: DateTime.toDate(start)
        })
      )
      assert.strictEqual(payload.sub, "usr_1")
    }).pipe(Effect.provide(tokensOf()))
  )

  it.effect("AccessTokens are valid in every process with the same key, and in none with another", () =>
    Effect.gen(function* () {
      yield* at(0)
      const token = Redacted.value((yield* Effect.provide(issued, tokensOf())).token)
      assert.deepStrictEqual(yield* Effect.provide(verify(token), tokensOf()), claims)
      const strangers: ReadonlyArray<readonly [Partial<JoseAccessTokens.JoseAccessTokensOptions>, string]> = [
        [{ key: newKey() }, "ERR_JWS_SIGNATURE_VERIFICATION_FAILED"],
        [{ issuer: "https://berth.example:8443" }, "ERR_JWT_CLAIM_VALIDATION_FAILED"],
        [{ audience: "https://berth.example" }, "ERR_JWT_CLAIM_VALIDATION_FAILED"]
      ]
      for (const [options, reason] of strangers)
        assert.strictEqual(yield* Effect.provide(refusal(token), tokensOf(options)), reason)
    })
  )
})

const publicPem = createPublicKey(Redacted.value(key)).export({ type: "spki", format: "pem" }).toString()
const publicRaw = createPublicKey(Redacted.value(key)).export({ type: "spki", format: "der" }).subarray(-32)

const right: JWTPayload = { iss: issuer, aud: audience, sub: "usr_1", sid: "ses_1", iat: second, exp: second + 900 }
const header = { alg: "EdDSA", typ: "at+jwt" }
const without = (claim: string) => Object.fromEntries(Object.entries(right).filter(([name]) => name !== claim))

const signed = (payload: JWTPayload, head: JWTHeaderParameters = header, by: KeyObject = Redacted.value(key)) =>
  Effect.promise(() => new SignJWT(payload).setProtectedHeader(head).sign(by))

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
/** A token with any header and a valid signature by our key. */
const selfMade = (head: unknown, payload: unknown = right) => {
  const body = `${part(head)}.${part(payload)}`
  return Effect.succeed(`${body}.${sign(null, Buffer.from(body), Redacted.value(key)).toString("base64url")}`)
}
const unsigned = (head: unknown, signature = "") => Effect.succeed(`${part(head)}.${part(right)}.${signature}`)
const inPieces = (change: (parts: [string, string, string]) => string) =>
  Effect.map(signed(right), (token) => {
    const [head = "", payload = "", signature = ""] = token.split(".")
    return change([head, payload, signature])
  })

const attacks: Readonly<Record<string, Effect.Effect<string>>> = {
  "the algorithm none": unsigned({ alg: "none", typ: "at+jwt" }),
  "the algorithm none, with a signature": inPieces(
    ([, payload, signature]) => `${part({ alg: "none", typ: "at+jwt" })}.${payload}.${signature}`
  ),
  "the algorithm nOnE": unsigned({ alg: "nOnE", typ: "at+jwt" }),
  "no algorithm": selfMade({ typ: "at+jwt" }),
  "HS256 with the public key's PEM as the secret": signed(
    right,
    { alg: "HS256", typ: "at+jwt" },
    createSecretKey(Buffer.from(publicPem))
  ),
  "HS256 with the public key's bytes as the secret": signed(
    right,
    { alg: "HS256", typ: "at+jwt" },
    createSecretKey(publicRaw)
  ),
  "another key": signed(right, header, otherKey),
  "another key, sent along": Effect.flatMap(
    Effect.promise(() => exportJWK(createPublicKey(otherKey))),
    (jwk) => signed(right, { ...header, jwk }, otherKey)
  ),
  "another key, under our key's id": signed(right, { ...header, kid: "our-key" }, otherKey),
  "an extension that must be understood": selfMade({ ...header, crit: ["exp"], exp: second + 900 }),
  "a payload that is not encoded": selfMade({ ...header, b64: false, crit: ["b64"] }),
  "another type of token": signed(right, { ...header, typ: "JWT" }),
  "no type": selfMade({ alg: "EdDSA" }),
  "another issuer": signed({ ...right, iss: "https://evil.example" }),
  "no issuer": signed(without("iss")),
  "another audience": signed({ ...right, aud: "https://berth.example/other" }),
  "no audience": signed(without("aud")),
  "a time before which it is not good": signed({ ...right, nbf: second + 60 }),
  "an end that is past": signed({ ...right, exp: second }),
  "no end": signed(without("exp")),
  "an end that is no number": selfMade(header, { ...right, exp: "2099-01-01" }),
  "no beginning": signed(without("iat")),
  "no user": signed(without("sub")),
  "no session": signed(without("sid")),
  "a user that is no text": selfMade(header, { ...right, sub: 1 }),
  "a session that is no text": selfMade(header, { ...right, sid: ["ses_1"] }),
  "a payload that is a list": selfMade(header, [right]),
  "another payload under the signature": inPieces(
    ([head, , signature]) => `${head}.${part({ ...right, sub: "usr_2" })}.${signature}`
  ),
  "a signature whose last character has other unused bits": inPieces(([head, payload, signature]) => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    const last = alphabet[alphabet.indexOf(signature.slice(-1)) + 1] ?? ""
    const changed = `${signature.slice(0, -1)}${last}`
    assert.deepStrictEqual(Buffer.from(changed, "base64url"), Buffer.from(signature, "base64url"))
    return `${head}.${payload}.${changed}`
  }),
  "a padded signature": inPieces((parts) => `${parts.join(".")}==`),
  "no signature": inPieces(([head, payload]) => `${head}.${payload}.`),
  "two parts": inPieces(([head, payload]) => `${head}.${payload}`),
  "four parts": inPieces((parts) => [...parts, "x"].join(".")),
  "a space around it": inPieces((parts) => ` ${parts.join(".")}`),
  "a true signature, and more than fits": signed({ ...right, more: "x".repeat(5_000) }),
  "a million letters": Effect.succeed("a".repeat(1_000_000)),
  nothing: Effect.succeed(""),
  dots: Effect.succeed("..")
}

describe("AccessTokens refuse a token with", () => {
  for (const [what, forged] of Object.entries(attacks))
    it.effect(what, () =>
      Effect.gen(function* () {
        yield* at(0)
        const token = yield* forged
        const reason = yield* refusal(token)
        if (token.length > 10) assert.notInclude(reason, token)
      }).pipe(Effect.provide(tokensOf()))
    )

  it.effect("AccessTokens accept an unchanged token", () =>
    Effect.gen(function* () {
      yield* at(0)
      assert.deepStrictEqual(yield* Effect.flatMap(signed(right), verify), claims)
      assert.deepStrictEqual(yield* Effect.flatMap(selfMade(header), verify), claims)
    }).pipe(Effect.provide(tokensOf()))
  )

  const anything = FastCheck.oneof(
    FastCheck.string(),
    FastCheck.tuple(FastCheck.json(), FastCheck.json(), FastCheck.string()).map(([head, payload, signature]) =>
      [head, payload, signature].map((text) => Buffer.from(text).toString("base64url")).join(".")
    )
  )
  it.effect.prop("AccessTokens reject arbitrary text without a defect", [anything], ([text]) =>
    Effect.asVoid(Effect.flip(verify(text))).pipe(Effect.provide(Layer.fresh(tokensOf())))
  )
})
