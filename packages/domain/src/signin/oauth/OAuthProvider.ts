import { Context, Data, type Effect, type Option, type Redacted, Schema } from "effect"
import type { VerifiedIdentity } from "../identities/LinkedAccounts.ts"

/** The two providers, by the names of their paths. */
export const OAuthProviderName = Schema.Literal("oauthA", "oauthB")
export type OAuthProviderName = typeof OAuthProviderName.Type

/** The provider does not answer, or not in time. `reason` never quotes what was sent. */
export class OAuthProviderUnavailable extends Data.TaggedError("OAuthProviderUnavailable")<{
  readonly reason: string
}> {}
/** What came back from the provider proves nobody. `reason` is for our own log and quotes nothing. */
export class OAuthResponseRejected extends Data.TaggedError("OAuthResponseRejected")<{ readonly reason: string }> {}

/** What only this sign-in knows, between its two halves. */
export interface OAuthSecrets {
  readonly state: Redacted.Redacted
  /** In the ID token, where there is one. */
  readonly nonce: Redacted.Redacted
  /** RFC 7636. */
  readonly codeVerifier: Redacted.Redacted
}

/** A provider that people can sign in at. */
export interface OAuthProvider {
  /** Where the browser is sent. */
  readonly authorizationUrl: (secrets: OAuthSecrets) => Effect.Effect<URL, OAuthProviderUnavailable>
  /** Who came back, by the query that the browser brought. To be called once with a code: providers forget it then. */
  readonly identify: (
    query: Redacted.Redacted<URLSearchParams>,
    secrets: OAuthSecrets
  ) => Effect.Effect<VerifiedIdentity, OAuthProviderUnavailable | OAuthResponseRejected>
}

/** The providers that the operator has configured. */
export class OAuthProviders extends Context.Tag("@berth/OAuthProviders")<
  OAuthProviders,
  Readonly<Record<OAuthProviderName, Option.Option<OAuthProvider>>>
>() {}
