import { type Context, Either, Redacted } from "effect"
import { PasswordRejected } from "../AccountErrors.ts"
import type { CommonPasswords } from "./CommonPasswords.ts"

export const minimumPasswordLength = 8
/** Minimum length where a mailed link proves control of the mailbox. */
export const minimumResetPasswordLength = 6
/** Longer input is rejected, never truncated. */
export const maximumPasswordBytes = 1024

const reject = (reason: string) => Either.left(new PasswordRejected({ reason }))

/** Validates length in characters and in bytes, and rejects the most common passwords. */
export const validatePassword = (
  common: Context.Tag.Service<CommonPasswords>,
  password: Redacted.Redacted,
  minimum = minimumPasswordLength
): Either.Either<Redacted.Redacted, PasswordRejected> => {
  const text = Redacted.value(password)
  if ([...text].length < minimum) return reject(`must have at least ${minimum} characters`)
  if (utf8Length(text) > maximumPasswordBytes) return reject(`must have at most ${maximumPasswordBytes} bytes`)
  return common.includes(password) ? reject("must not be one of the most common passwords") : Either.right(password)
}

const utf8Length = (text: string): number => {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}
