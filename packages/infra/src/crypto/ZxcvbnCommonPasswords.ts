import { CommonPasswords, rejectedCommonPasswordCount } from "@berth/domain/accounts/password/CommonPasswords"
import { minimumPasswordLength, minimumResetPasswordLength } from "@berth/domain/accounts/password/Password"
import { dictionary } from "@zxcvbn-ts/language-common"
import { Iterable, Layer, Redacted } from "effect"

const mostCommon = (minimum: number) =>
  Iterable.take(
    Iterable.filter(dictionary["passwords-common"], ({ length }) => length >= minimum),
    rejectedCommonPasswordCount
  )

/** Most frequent entries of zxcvbn's list for each minimum length; shorter entries are rejected anyway. */
export const layer: Layer.Layer<CommonPasswords> = Layer.sync(CommonPasswords, () => {
  const passwords = new Set(
    [minimumResetPasswordLength, minimumPasswordLength].flatMap((minimum) =>
      Array.from(mostCommon(minimum), (password) => password.toLowerCase())
    )
  )
  return { includes: (password) => passwords.has(Redacted.value(password).toLowerCase()) }
})
