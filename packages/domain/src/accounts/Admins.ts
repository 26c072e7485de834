import { Context } from "effect"
import type { User } from "./User.ts"

/** Who is an administrator: the addresses of `ADMIN_EMAILS`. In production the address must be verified, so nobody becomes one by changing his e-mail. */
export class Admins extends Context.Tag("@berth/Admins")<Admins, { readonly includes: (user: User) => boolean }>() {}

/** The rule behind `Admins`: `emails` in any case, `verifiedOnly` in production. */
export const adminRule = (options: { readonly emails: ReadonlyArray<string>; readonly verifiedOnly: boolean }) => {
  const keys = new Set(options.emails.map((email) => email.trim().toLowerCase()).filter((key) => key !== ""))
  return {
    includes: (user: User): boolean =>
      keys.has(user.email.toLowerCase()) && (!options.verifiedOnly || user.emailVerifiedAt !== null)
  }
}
