import { CommonPasswords, refusedCommonPasswords } from "@berth/domain/accounts/CommonPasswords"
import { dictionary } from "@zxcvbn-ts/language-common"
import { Layer, Redacted } from "effect"

/** Those that zxcvbn knows, which lists them by how often they were found in leaks. Made into a set once. */
export const layer: Layer.Layer<CommonPasswords> = Layer.sync(CommonPasswords, () => {
  const passwords = new Set(
    dictionary["passwords-common"].slice(0, refusedCommonPasswords).map((password) => password.toLowerCase())
  )
  return { includes: (password) => passwords.has(Redacted.value(password).toLowerCase()) }
})
