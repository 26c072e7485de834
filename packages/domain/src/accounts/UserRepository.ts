import { Context, type DateTime, type Effect, type Option } from "effect"
import type { Email } from "../shared/Email.ts"
import type { NotificationPreferences, User } from "../shared/User.ts"
import type { AccountInUse, EmailAlreadyTaken } from "./AccountErrors.ts"
import type { UserId } from "../shared/UserId.ts"

export interface UserQuery {
  /** Case-insensitive prefix of the email address, or the id. */
  readonly text: Option.Option<string>
  readonly limit: number
  readonly offset: number
}

export interface UserPage {
  readonly users: ReadonlyArray<User>
  /** Count of all matches. */
  readonly total: number
}

interface NewUser {
  readonly id: UserId
  readonly email: Email
  readonly name: string
  readonly passwordHash: string | null
  readonly referralCode: string
}

/** Changes by the owner; an absent field stays. A changed email is unverified. */
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
    /** Locks the user until the running transaction ends. */
    readonly findForUpdate: (id: UserId) => Effect.Effect<Option.Option<User>>
    readonly findByEmail: (
      email: Email
    ) => Effect.Effect<Option.Option<{ readonly user: User; readonly passwordHash: Option.Option<string> }>>
    /** The stored password hash; none for an account without a password. */
    readonly findPasswordHash: (id: UserId) => Effect.Effect<Option.Option<string>>
    /** Prevents changes of the hash until the running transaction ends. */
    readonly findPasswordHashForUpdate: (id: UserId) => Effect.Effect<Option.Option<string>>
    /** Locks the user until the running transaction ends. */
    readonly findByEmailForUpdate: (email: Email) => Effect.Effect<Option.Option<User>>
    /** Removes a password that was set at or after `since`. */
    readonly removePasswordHash: (id: UserId, since: DateTime.Utc) => Effect.Effect<void>
    /** False when the user does not exist. */
    readonly setPasswordHash: (id: UserId, passwordHash: string) => Effect.Effect<boolean>
    readonly findByReferralCode: (code: string) => Effect.Effect<Option.Option<User>>
    readonly update: (id: UserId, changes: UserChanges) => Effect.Effect<Option.Option<User>, EmailAlreadyTaken>
    /** Verifies the user's present address; idempotent. */
    readonly markEmailVerified: (id: UserId) => Effect.Effect<void>
    /**
     * Deletes the user with all rows and records the id as deleted; false when the user does not exist. Money records stay
     * under the pseudonym `formerUser`. Joins the running transaction, which must roll back on failure.
     */
    readonly remove: (id: UserId, formerUser: string) => Effect.Effect<boolean, AccountInUse>
    /** Newest first. */
    readonly search: (query: UserQuery) => Effect.Effect<UserPage>
    /** Sets the time of the suspension, null to end it. An existing suspension keeps its time. */
    readonly setSuspendedAt: (id: UserId, suspendedAt: DateTime.Utc | null) => Effect.Effect<void>
    readonly findSuspended: (ids: ReadonlyArray<UserId>) => Effect.Effect<ReadonlySet<UserId>>
    /** Returns the ids without a user. */
    readonly findAbsent: (ids: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyMap<UserId, UserAbsence>>
  }
>() {}
