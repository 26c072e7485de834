import { Schema } from "effect"
import { UserId } from "../../shared/UserId.ts"

/** Named as in the paths of the API. */
export const IdentityProvider = Schema.Literal("oauthA", "oauthB", "socialIdentity")
export type IdentityProvider = typeof IdentityProvider.Type

/** A user of a provider. Includes the issuer, since equal subjects of two issuers are different users. */
export const ExternalIdentity = Schema.Struct({
  provider: IdentityProvider,
  /** Issuer identifier, or the origin of a provider without one. */
  issuer: Schema.String,
  /** Permanent id at the provider; never an email or a name. */
  subject: Schema.String
})
export type ExternalIdentity = typeof ExternalIdentity.Type

/** An identity is linked to at most one account. */
export const LinkedIdentity = Schema.Struct({
  ...ExternalIdentity.fields,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromSelf
})
export type LinkedIdentity = typeof LinkedIdentity.Type
