import { generateKeyEncryptionKeys, parseKeyEncryptionKeys } from "@berth/infra/crypto/AesGcmSecretBox"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Redacted } from "effect"

const key = FastCheck.uint8Array({ minLength: 32, maxLength: 32 })
const id = FastCheck.stringMatching(/^[A-Za-z0-9-]{1,32}$/)
const entries = FastCheck.uniqueArray(FastCheck.tuple(id, key), {
  minLength: 1,
  maxLength: 5,
  selector: ([name]) => name
})

const parse = (text: string) => parseKeyEncryptionKeys(Redacted.make(text))
const problem = (text: string) => Either.match(parse(text), { onLeft: ({ reason }) => reason, onRight: () => "none" })
const good = Buffer.alloc(32, 7).toString("base64")

describe("parseKeyEncryptionKeys", () => {
  it.prop("parseKeyEncryptionKeys reads id:base64 entries in their order", [entries], ([keyEntries]) => {
    const text = keyEntries.map(([name, bytes]) => `${name}:${Buffer.from(bytes).toString("base64")}`).join(",")
    const keys = Either.getOrThrow(parse(text))
    assert.deepStrictEqual(
      keys.map((one) => [one.id, [...Redacted.value(one.key)]]),
      keyEntries.map(([name, bytes]) => [name, [...bytes]])
    )
  })

  it.prop("parseKeyEncryptionKeys quotes no text", [FastCheck.string({ minLength: 8 })], ([text]) => {
    const parsed = parse(text)
    if (Either.isLeft(parsed)) assert.notInclude(parsed.left.reason, text)
  })

  it("parseKeyEncryptionKeys describes each error", () => {
    const form = "each key must be id:base64, with letters, digits and hyphens in the id"
    assert.strictEqual(problem(`k1:${good}, k2:${good}`), "none")
    assert.strictEqual(problem(""), form)
    assert.strictEqual(problem(good), form)
    assert.strictEqual(problem(`k1:${good},`), form)
    assert.strictEqual(problem(`k.1:${good}`), form)
    assert.strictEqual(problem("k1:AAAA"), "the key k1 must have 32 bytes, not 3")
    assert.strictEqual(problem(`k1:${good},k1:${good}`), "two keys have the same id")
  })

  it("parseKeyEncryptionKeys reads generated keys, which are unique", () => {
    const [one, two] = [generateKeyEncryptionKeys(), generateKeyEncryptionKeys()]
    assert.isTrue(Either.isRight(parseKeyEncryptionKeys(one)))
    assert.notStrictEqual(Redacted.value(one), Redacted.value(two))
  })
})
