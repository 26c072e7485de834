import { Context, Data, type Effect, type Option, type Redacted, Schema } from "effect"
import type { VerifiedIdentity } from "../identities/LinkedAccounts.ts"

/** Named as in the paths of the API. */
export const OAuthProviderName = Schema.Literal("oauthA", "oauthB")
export type OAuthProviderName = typeof OAuthProviderName.Type

/** `reason` never quotes the request. */
export class OAuthProviderUnavailable extends Data.TaggedError("OAuthProviderUnavailable")<{
  readonly reason: string
}> {}
/** The callback or the token response is invalid. `reason` is for the log and quotes nothing. */
export class OAuthResponseRejected extends Data.TaggedError("OAuthResponseRejected")<{ readonly reason: string }> {}

/** Secrets of one sign-in, between authorization request and callback. */
export interface OAuthSecrets {
  readonly state: Redacted.Redacted
  /** Expected value in the ID token, if any. */
  readonly nonce: Redacted.Redacted
  /** RFC 7636. */
  readonly codeVerifier: Redacted.Redacted
}

export interface OAuthProvider {
  readonly authorizationUrl: (secrets: OAuthSecrets) => Effect.Effect<URL, OAuthProviderUnavailable>
  /** Exchanges the code of a callback query for an identity. At most once per code. */
  readonly identify: (
    query: Redacted.Redacted<URLSearchParams>,
    secrets: OAuthSecrets
  ) => Effect.Effect<VerifiedIdentity, OAuthProviderUnavailable | OAuthResponseRejected>
}

export class OAuthProviders extends Context.Tag("@berth/OAuthProviders")<
  OAuthProviders,
  Readonly<Record<OAuthProviderName, Option.Option<OAuthProvider>>>
>() {}
