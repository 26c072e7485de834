import { generateJwtKey, parseJwtKey } from "@berth/infra/crypto/JwtKey"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Redacted } from "effect"
import { generateKeyPairSync } from "node:crypto"

const pem = Redacted.value(generateJwtKey())
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
const ed = generateKeyPairSync("ed25519")

const parse = (text: string) => parseJwtKey(Redacted.make(text))

describe("JWT_PRIVATE_KEY", () => {
  it("JWT_PRIVATE_KEY may be a generated key, with line breaks or \\n", () => {
    for (const text of [pem, pem.trim(), pem.replaceAll("\n", "\\n"), pem.replaceAll("\n", "\r\n")])
      assert.deepStrictEqual(
        Either.map(parse(text), (key) => Redacted.value(key).export({ type: "pkcs8", format: "pem" })),
        Either.right(pem)
      )
    assert.notStrictEqual(Redacted.value(generateJwtKey()), pem)
  })

  const wrong: Record<string, string> = {
    nothing: "",
    "no PEM": "secret",
    "half a key": pem.slice(0, 60),
    "an RSA key": rsa.export({ type: "pkcs8", format: "pem" }).toString(),
    "another curve's key": generateKeyPairSync("x25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    "a public key": ed.publicKey.export({ type: "spki", format: "pem" }).toString()
  }
  for (const [what, text] of Object.entries(wrong))
    it(`JWT_PRIVATE_KEY may not be ${what}`, () =>
      assert.strictEqual(
        Either.getOrThrow(Either.flip(parse(text))).reason,
        "must be an Ed25519 private key in PKCS8 PEM"
      ))

  it.prop("JWT_PRIVATE_KEY may not be arbitrary text", [FastCheck.string()], ([text]) =>
    assert.isTrue(Either.isLeft(parse(text)))
  )
})
