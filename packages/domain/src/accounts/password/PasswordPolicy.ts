import { type Context, Either, type Redacted } from "effect"
import { PasswordRejected } from "../AccountErrors.ts"
import type { CommonPasswords } from "./CommonPasswords.ts"
import { validatePasswordLength, minimumPasswordLength } from "./Password.ts"

/** A password as it may be set, wherever one is: long enough, not too long, and none of the most common ones. */
export const validatePassword = (
  common: Context.Tag.Service<CommonPasswords>,
  password: Redacted.Redacted,
  minimum = minimumPasswordLength
): Either.Either<Redacted.Redacted, PasswordRejected> =>
  Either.filterOrLeft(
    validatePasswordLength(password, minimum),
    (accepted) => !common.includes(accepted),
    () => new PasswordRejected({ reason: "must not be one of the most common passwords" })
  )
