import { CommonPasswords, rejectedCommonPasswordCount } from "@berth/domain/accounts/password/CommonPasswords"
import { minimumPasswordLength, minimumResetPasswordLength } from "@berth/domain/accounts/password/Password"
import { dictionary } from "@zxcvbn-ts/language-common"
import { Layer, Redacted } from "effect"

const mostCommon = (minimum: number) =>
  dictionary["passwords-common"].filter(({ length }) => length >= minimum).slice(0, rejectedCommonPasswordCount)

/**
 * Those that zxcvbn knows, which lists them by how often they were found in leaks. Most of the list's head is too short
 * to be chosen at all and says nothing, so each minimum length has a head of its own. Made into a set once.
 */
export const layer: Layer.Layer<CommonPasswords> = Layer.sync(CommonPasswords, () => {
  const passwords = new Set(
    [minimumResetPasswordLength, minimumPasswordLength].flatMap(mostCommon).map((password) => password.toLowerCase())
  )
  return { includes: (password) => passwords.has(Redacted.value(password).toLowerCase()) }
})
