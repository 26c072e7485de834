import { Context, type Redacted } from "effect"

/** The most common passwords. */
export class CommonPasswords extends Context.Tag("@berth/CommonPasswords")<
  CommonPasswords,
  {
    /** Compares case-insensitively. */
    readonly includes: (password: Redacted.Redacted) => boolean
  }
>() {}

/** Rejected passwords for each minimum length: OWASP ASVS 5.0, 6.2.4. */
export const rejectedCommonPasswordCount = 3_000
