import { type Context, Either, type Redacted } from "effect"
import { PasswordIsRefused } from "./AccountErrors.ts"
import type { CommonPasswords } from "./CommonPasswords.ts"
import { acceptPassword, minimumPasswordLength } from "./Password.ts"

/** A password as it may be set, wherever one is: long enough, not too long, and none of the most common ones. */
export const choosePassword = (
  common: Context.Tag.Service<CommonPasswords>,
  password: Redacted.Redacted,
  minimum = minimumPasswordLength
): Either.Either<Redacted.Redacted, PasswordIsRefused> =>
  Either.filterOrLeft(
    acceptPassword(password, minimum),
    (accepted) => !common.includes(accepted),
    () => new PasswordIsRefused({ reason: "must not be one of the most common passwords" })
  )
