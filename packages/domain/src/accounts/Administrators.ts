import { Context } from "effect"
import type { User } from "../shared/User.ts"

/** Administrators: users whose address is in `ADMIN_EMAILS`. */
export class Administrators extends Context.Tag("@berth/Administrators")<
  Administrators,
  { readonly includes: (user: User) => boolean }
>() {}

/** Compares case-insensitively. With `verifiedOnly` (production), an unverified address grants no administration. */
export const makeAdministrators = (options: {
  readonly emails: ReadonlyArray<string>
  readonly verifiedOnly: boolean
}) => {
  const keys = new Set(options.emails.map((email) => email.trim().toLowerCase()).filter((key) => key !== ""))
  return {
    includes: (user: User): boolean =>
      keys.has(user.email.toLowerCase()) && (!options.verifiedOnly || user.emailVerifiedAt !== null)
  }
}
