import { Context, type Redacted } from "effect"

/** The passwords that whoever guesses tries first. */
export class CommonPasswords extends Context.Tag("@berth/CommonPasswords")<
  CommonPasswords,
  {
    /** In any case: who is made to mix it writes Password. */
    readonly includes: (password: Redacted.Redacted) => boolean
  }
>() {}

/** So many of them nobody may choose, of those that are long enough: OWASP ASVS 5.0, 6.2.4. */
export const rejectedCommonPasswordCount = 3_000
