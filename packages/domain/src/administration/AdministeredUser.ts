import type { Context } from "effect"
import type { Administrators } from "../accounts/Administrators.ts"
import type { User } from "../shared/User.ts"

export const describeUser = (administrators: Context.Tag.Service<Administrators>, user: User) => ({
  id: user.id,
  email: user.email,
  emailVerified: user.emailVerifiedAt !== null,
  name: user.name,
  plan: user.plan,
  credits: user.credits,
  suspendedAt: user.suspendedAt,
  isAdministrator: administrators.includes(user),
  createdAt: user.createdAt
})
