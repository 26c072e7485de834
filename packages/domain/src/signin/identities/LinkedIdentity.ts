import { Schema } from "effect"
import { UserId } from "../../shared/UserId.ts"

/** Who besides ourselves can say who somebody is. The names are those of the paths. */
export const IdentityProvider = Schema.Literal("oauthA", "oauthB", "socialIdentity")
export type IdentityProvider = typeof IdentityProvider.Type

/**
 * Somebody at a provider. The issuer is part of it: an operator who moves to another one must not find the old one's
 * people in the accounts of the new one's.
 */
export const ExternalIdentity = Schema.Struct({
  provider: IdentityProvider,
  /** The issuer's identifier, or the origin of what has none. */
  issuer: Schema.String,
  /** Who it is there, for ever; never an e-mail address or a name. */
  subject: Schema.String
})
export type ExternalIdentity = typeof ExternalIdentity.Type

/** An identity that leads into an account. It leads into one. */
export const LinkedIdentity = Schema.Struct({
  ...ExternalIdentity.fields,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromSelf
})
export type LinkedIdentity = typeof LinkedIdentity.Type
