import { Context, type Redacted } from "effect"

export class CommonPasswords extends Context.Tag("@berth/CommonPasswords")<
  CommonPasswords,
  {
    /** Compares case-insensitively. */
    readonly includes: (password: Redacted.Redacted) => boolean
  }
>() {}

/** Number of common passwords to reject at each minimum length: OWASP ASVS 5.0, 6.2.4. */
export const rejectedCommonPasswordCount = 3_000
