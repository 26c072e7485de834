import {
  channelCredentialKeys,
  CredentialKey,
  makeCredentialMap,
  maximumCredentialLength,
  modelCredentialKeys,
  parseCredentialKey,
  parseCredentialValue,
  StoredCredentialKey
} from "@berth/domain/secrets/Credential"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Redacted } from "effect"

const parse = (text: string) => Either.map(parseCredentialValue(Redacted.make(text)), Redacted.value)

describe("A credential", () => {
  it("A stored credential belongs to a model provider or a messaging platform", () =>
    assert.deepStrictEqual(
      [...modelCredentialKeys, ...channelCredentialKeys].toSorted(),
      [...StoredCredentialKey.literals].toSorted()
    ))

  it.prop("A credential has one of the seven keys", [FastCheck.string()], ([text]) => {
    assert.strictEqual(
      Either.isRight(parseCredentialKey(text)),
      CredentialKey.literals.some((key) => key === text)
    )
  })
  for (const key of CredentialKey.literals)
    it(`A credential key may be ${key}, in exactly this case`, () => {
      assert.deepStrictEqual(parseCredentialKey(key), Either.right(key))
      for (const wrong of [key.toUpperCase(), ` ${key}`, `${key}\u0000`])
        assert.isTrue(Either.isLeft(parseCredentialKey(wrong)))
    })

  it.prop(
    "A credential is stored without surrounding spaces, otherwise unchanged",
    [
      FastCheck.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,80}[\x21-\x7e])?$/),
      FastCheck.stringMatching(/^[ \t\r\n]{0,5}$/)
    ],
    ([value, space]) => assert.deepStrictEqual(parse(`${space}${value}${space}`), Either.right(value))
  )

  it("A credential has 1 to 8192 characters after trimming", () => {
    assert.isTrue(Either.isRight(parse("k".repeat(maximumCredentialLength))))
    for (const wrong of ["", " \n\t ", "k".repeat(maximumCredentialLength + 1)])
      assert.include(Either.getOrThrow(Either.flip(parse(wrong))).reason, "1 to 8192")
  })

  it("A credential consists of characters that are valid in a header", () => {
    for (const wrong of ["a\nb", "a\r\nx: y", "a\u0000b", "schlüssel", "sk\u200b-1", "\u007f", "🔑", "\ud800"])
      assert.include(Either.getOrThrow(Either.flip(parse(wrong))).reason, "ASCII")
  })

  it.prop("A rejected credential is not quoted in the error", [FastCheck.string({ minLength: 8 })], ([text]) => {
    const refused = Either.flip(parse(text))
    if (Either.isRight(refused)) assert.notInclude(JSON.stringify(refused.right), text.trim() === "" ? "\u0000" : text)
  })

  it.prop(
    "A credential is in the map exactly when it is configured",
    [FastCheck.subarray([...CredentialKey.literals])],
    ([keys]) => {
      const map = makeCredentialMap(keys)
      assert.deepStrictEqual(Object.keys(map).toSorted(), [...CredentialKey.literals].toSorted())
      for (const key of CredentialKey.literals) assert.strictEqual(map[key], keys.includes(key))
    }
  )
})
