import { Context, type Effect, type Option } from "effect"
import type { AccountInUse } from "./AccountDeletionErrors.ts"
import type { EmailAlreadyTaken } from "./AccountErrors.ts"
import type { Email } from "../shared/Email.ts"
import type { NotificationPreferences, User, UserId } from "../shared/User.ts"

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
  readonly notifications?: Partial<NotificationPreferences>
}

export type UserAbsence = "deleted" | "unknown"

export class UserRepository extends Context.Tag("@berth/UserRepository")<
  UserRepository,
  {
    readonly insert: (user: NewUser) => Effect.Effect<User, EmailAlreadyTaken>
    readonly find: (id: UserId) => Effect.Effect<Option.Option<User>>
    /** The same, and until the running transaction ends nobody else holds or changes him. */
    readonly findForUpdate: (id: UserId) => Effect.Effect<Option.Option<User>>
    readonly findByEmail: (
      email: Email
    ) => Effect.Effect<Option.Option<{ readonly user: User; readonly passwordHash: Option.Option<string> }>>
    /** The stored hash of a user's password; none for an account without one. */
    readonly findPasswordHash: (id: UserId) => Effect.Effect<Option.Option<string>>
    /** The same, and it stays as it is until the running transaction ends. */
    readonly findPasswordHashForUpdate: (id: UserId) => Effect.Effect<Option.Option<string>>
    /** The account of an address, which nobody else changes until the running transaction ends. */
    readonly findByEmailForUpdate: (email: Email) => Effect.Effect<Option.Option<User>>
    readonly removePasswordHash: (id: UserId) => Effect.Effect<void>
    /** False when there is no such user. */
    readonly setPasswordHash: (id: UserId, passwordHash: string) => Effect.Effect<boolean>
    readonly findByReferralCode: (code: string) => Effect.Effect<Option.Option<User>>
    readonly update: (id: UserId, changes: UserChanges) => Effect.Effect<Option.Option<User>, EmailAlreadyTaken>
    /** The user's present address is confirmed to be his, since now. */
    readonly markEmailVerified: (id: UserId) => Effect.Effect<void>
    readonly addCredits: (id: UserId, credits: number) => Effect.Effect<void>
    /**
     * Deletes the user and all that is his, and remembers that the id was a user's; false when there is no such user. Records of
     * money stay under the name `formerUser`. Joins the running transaction, which has to be given up when it fails.
     */
    readonly remove: (id: UserId, formerUser: string) => Effect.Effect<boolean, AccountInUse>
    /** Of the ids that are no user's: whether each was deleted, or was never heard of. */
    readonly findAbsent: (ids: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyMap<UserId, UserAbsence>>
  }
>() {}
