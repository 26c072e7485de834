import { CommonPasswords, rejectedCommonPasswordCount } from "@berth/domain/accounts/password/CommonPasswords"
import { minimumPasswordLength, minimumResetPasswordLength } from "@berth/domain/accounts/password/Password"
import { dictionary } from "@zxcvbn-ts/language-common"
import { Iterable, Layer, Redacted } from "effect"

const mostCommon = (minimum: number) =>
  Iterable.take(
    Iterable.filter(dictionary["passwords-common"], ({ length }) => length >= minimum),
    rejectedCommonPasswordCount
  )

const listPasswords = () =>
  new Set(
    [minimumResetPasswordLength, minimumPasswordLength].flatMap((minimum) =>
      Array.from(mostCommon(minimum), (password) => password.toLowerCase())
    )
  )

/**
 * Most frequent entries of zxcvbn's list for each minimum length; shorter entries are rejected anyway. Unpacked for the
 * first password: it takes 20 ms of processor time.
 */
export const layer: Layer.Layer<CommonPasswords> = Layer.sync(CommonPasswords, () => {
  let passwords: ReadonlySet<string> | undefined
  return { includes: (password) => (passwords ??= listPasswords()).has(Redacted.value(password).toLowerCase()) }
})
