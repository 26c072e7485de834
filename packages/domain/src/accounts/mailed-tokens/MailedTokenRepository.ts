import { Context, type DateTime, type Effect, type Option } from "effect"
import type { MailedToken, MailedTokenPurpose } from "./MailedToken.ts"
import type { Email } from "../../shared/Email.ts"
import type { UserId } from "../../shared/UserId.ts"

type MailedTokenOwner = Pick<MailedToken, "userId" | "email">

/** Hashes of mailed tokens. A token is live until it is consumed, revoked, replaced or expired. */
export class MailedTokenRepository extends Context.Tag("@berth/MailedTokenRepository")<
  MailedTokenRepository,
  {
    /** Stores a token and replaces the user's previous token of the same purpose. */
    readonly replace: (token: MailedToken, expiresAt: DateTime.Utc) => Effect.Effect<void>
    /** As `replace`; false if the previous token, live or not, belongs to this request or a later one. */
    readonly replaceIfNewer: (token: MailedToken, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    readonly find: (
      purpose: MailedTokenPurpose,
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<MailedTokenOwner & { readonly expiresAt: DateTime.Utc }>>
    /** The live token of a user. */
    readonly findByUser: (
      purpose: MailedTokenPurpose,
      userId: UserId,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<MailedTokenOwner>>
    /** The oldest live token mailed to an address. Compares case-insensitively. */
    readonly findByEmail: (
      purpose: MailedTokenPurpose,
      email: Email,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<MailedTokenOwner>>
    /** Consumes a live token. Of concurrent calls exactly one receives it; the others wait for its transaction. */
    readonly consume: (
      purpose: MailedTokenPurpose,
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<MailedTokenOwner>>
    readonly revoke: (userId: UserId, purpose: MailedTokenPurpose) => Effect.Effect<void>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
