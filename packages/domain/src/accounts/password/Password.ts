import { Context, type Effect, Either, Redacted } from "effect"
import { PasswordRejected } from "../AccountErrors.ts"

export const minimumPasswordLength = 8
/** Longer input is refused, never truncated. */
export const maximumPasswordBytes = 1024

/** Whether a password may be chosen (not whether it is right). */
export const validatePasswordLength = (
  password: Redacted.Redacted,
  minimum = minimumPasswordLength
): Either.Either<Redacted.Redacted, PasswordRejected> => {
  const text = Redacted.value(password)
  if ([...text].length < minimum)
    return Either.left(new PasswordRejected({ reason: `must have at least ${minimum} characters` }))
  if (utf8Length(text) > maximumPasswordBytes)
    return Either.left(new PasswordRejected({ reason: `must have at most ${maximumPasswordBytes} bytes` }))
  return Either.right(password)
}

const utf8Length = (text: string): number => {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}

/** Slow, salted hashing off the main thread, with a bound on how many run at once. */
export class PasswordHasher extends Context.Tag("@berth/PasswordHasher")<
  PasswordHasher,
  {
    /** A PHC string. */
    readonly hash: (password: Redacted.Redacted) => Effect.Effect<string>
    readonly verify: (password: Redacted.Redacted, hash: string) => Effect.Effect<boolean>
    /** Takes as long as a real verification and says no: what sign-in does for an account that does not exist. */
    readonly verifyDummy: (password: Redacted.Redacted) => Effect.Effect<false>
  }
>() {}
