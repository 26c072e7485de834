import { Context, type Effect, type Option } from "effect"
import type { EmailIsTaken } from "./AccountErrors.ts"
import type { Email } from "./Email.ts"
import type { Notifications, User, UserId } from "./User.ts"

export interface NewUser {
  readonly id: UserId
  readonly email: Email
  readonly name: string
  /** Null for an account that is got into otherwise. */
  readonly passwordHash: string | null
  readonly referralCode: string
}

/** What the owner may change; an absent field stays. A changed e-mail is unverified again. */
export interface UserChanges {
  readonly name?: string
  readonly email?: Email
  readonly notifications?: Partial<Notifications>
}

export class UserRepository extends Context.Tag("@berth/UserRepository")<
  UserRepository,
  {
    readonly insert: (user: NewUser) => Effect.Effect<User, EmailIsTaken>
    readonly find: (id: UserId) => Effect.Effect<Option.Option<User>>
    readonly findByEmail: (
      email: Email
    ) => Effect.Effect<Option.Option<{ readonly user: User; readonly passwordHash: Option.Option<string> }>>
    /** The stored hash of a user's password; none for an account without one. */
    readonly findPasswordHash: (id: UserId) => Effect.Effect<Option.Option<string>>
    /** The same, and it stays as it is until the running transaction ends. */
    readonly holdPasswordHash: (id: UserId) => Effect.Effect<Option.Option<string>>
    /** The account of an address, which nobody else changes until the running transaction ends. */
    readonly holdByEmail: (email: Email) => Effect.Effect<Option.Option<User>>
    /** Someone has proved that the account's present address is his. */
    readonly markEmailVerified: (id: UserId) => Effect.Effect<void>
    readonly removePasswordHash: (id: UserId) => Effect.Effect<void>
    readonly setPasswordHash: (id: UserId, passwordHash: string) => Effect.Effect<void>
    readonly findByReferralCode: (code: string) => Effect.Effect<Option.Option<User>>
    readonly update: (id: UserId, changes: UserChanges) => Effect.Effect<Option.Option<User>, EmailIsTaken>
    readonly addCredits: (id: UserId, credits: number) => Effect.Effect<void>
  }
>() {}
