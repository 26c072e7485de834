import { Context, type DateTime, type Effect, type Option } from "effect"
import type { MailedToken, MailedTokenPurpose } from "./MailedToken.ts"
import type { Email } from "../../shared/Email.ts"
import type { UserId } from "../../shared/UserId.ts"

type MailedTokenOwner = Pick<MailedToken, "userId" | "email">

/** Hashed tokens of mailed links. A token is live until it is consumed, revoked, replaced or expired. */
export class MailedTokenRepository extends Context.Tag("@berth/MailedTokenRepository")<
  MailedTokenRepository,
  {
    /** Stores a token in place of the user's last one of its purpose. */
    readonly replace: (token: MailedToken, expiresAt: DateTime.Utc) => Effect.Effect<void>
    /** The same, unless the last one, live or not, belongs to this request or a later one: then false. */
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
    /** The live token that was mailed to an address, the oldest of several. Compares case-insensitively. */
    readonly findByEmail: (
      purpose: MailedTokenPurpose,
      email: Email,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<MailedTokenOwner>>
    /** Uses a live token up: one of any number of concurrent calls gets it, the others wait for its transaction. */
    readonly consume: (
      purpose: MailedTokenPurpose,
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<MailedTokenOwner>>
    readonly revoke: (userId: UserId, purpose: MailedTokenPurpose) => Effect.Effect<void>
    /** Returns the number of removed tokens. */
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
