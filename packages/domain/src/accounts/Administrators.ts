import { Context } from "effect"
import type { User } from "../shared/User.ts"

/** Who is an administrator: the addresses of `ADMIN_EMAILS`. In production the address must be verified, so nobody becomes one by changing his e-mail. */
export class Administrators extends Context.Tag("@berth/Administrators")<
  Administrators,
  { readonly includes: (user: User) => boolean }
>() {}

/** The rule behind `Admins`: `emails` in any case, `verifiedOnly` in production. */
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
