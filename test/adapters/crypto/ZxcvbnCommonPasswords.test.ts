import { CommonPasswords } from "@berth/domain/accounts/password/CommonPasswords"
import * as ZxcvbnCommonPasswords from "@berth/infra/crypto/ZxcvbnCommonPasswords"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"

layer(ZxcvbnCommonPasswords.layer)("CommonPasswords", (it) => {
  const isCommon = (text: string) => Effect.map(CommonPasswords, ({ includes }) => includes(Redacted.make(text)))

  it.effect("CommonPasswords contains the most common passwords in any case", () =>
    Effect.gen(function* () {
      for (const text of [
        "123456",
        "password",
        "PASSWORD",
        "12345678",
        "qwertyuiop",
        "iLoveYou",
        "TRUSTNO1",
        "letmein",
        "1qaz2wsx",
        "starwars",
        "baseball",
        "computer"
      ])
        assert.isTrue(yield* isCommon(text), text)
    })
  )

  it.effect("CommonPasswords contains common passwords of sufficient length", () =>
    Effect.gen(function* () {
      // Beyond the 3,000th of the whole list, and among the first 3,000 of at least eight characters.
      for (const text of ["superstar", "hollywood", "iloveyou1", "sunshine1", "Greenbay"])
        assert.isTrue(yield* isCommon(text), text)
    })
  )

  it.effect("CommonPasswords does not contain other passwords", () =>
    Effect.gen(function* () {
      for (const text of ["", "correct horse battery", "password-9f3a", " password", "1234567é", "zx81é!"])
        assert.isFalse(yield* isCommon(text), text)
    })
  )
})
