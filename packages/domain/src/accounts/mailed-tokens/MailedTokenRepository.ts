import { Context, type DateTime, type Effect, type Option } from "effect"
import type { MailedToken, MailedTokenPurpose } from "./MailedToken.ts"
import type { UserId } from "../../shared/User.ts"

type Found = Pick<MailedToken, "userId" | "email">

/** The tokens in mails, hashed. A token is live until it is spent, forgotten, replaced or expired. */
export class MailedTokenRepository extends Context.Tag("@berth/MailedTokenRepository")<
  MailedTokenRepository,
  {
    /** Puts a token in place of the user's last one of its purpose. */
    readonly replace: (token: MailedToken, expiresAt: DateTime.Utc) => Effect.Effect<void>
    /** The same, unless that one was made for this request or a later one, whether it is live or not: then false. */
    readonly replaceIfNewer: (token: MailedToken, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    /** The live token of a hash. */
    readonly find: (
      purpose: MailedTokenPurpose,
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<Found>>
    /** Uses a live token up: of any number at once one gets it, the others wait for the end of its transaction. */
    readonly consume: (
      purpose: MailedTokenPurpose,
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<Found>>
    /** The user's token of a purpose opens nothing any more. */
    readonly revoke: (userId: UserId, purpose: MailedTokenPurpose) => Effect.Effect<void>
    /** Answers how many. */
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
