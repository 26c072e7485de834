import { Context, Data, type Effect, type Option } from "effect"
import type { WebAuthnCredential } from "./WebAuthnCredential.ts"

/** The response of the authenticator does not prove the challenge, or its counter did not increase. `reason` is for the log. */
export class AuthenticatorResponseInvalid extends Data.TaggedError("AuthenticatorResponseInvalid")<{
  readonly reason: string
}> {}

/** Characters; a usual response has about 1,000. */
export const maximumAuthenticatorResponse = 16 * 1024

/** WebAuthn Level 3 for the origin and the host of `APP_URL`, with user verification. Responses are base64url of their JSON. */
export class WebAuthn extends Context.Tag("@berth/WebAuthn")<
  WebAuthn,
  {
    /** The credential that a registration over the message created. */
    readonly verifyRegistration: (
      response: string,
      message: string
    ) => Effect.Effect<WebAuthnCredential, AuthenticatorResponseInvalid>
    /** The credential that a response names, unproven. */
    readonly readCredentialId: (response: string) => Option.Option<string>
    /** The new counter, after an assertion over the message. */
    readonly verifyAssertion: (
      response: string,
      message: string,
      credential: WebAuthnCredential
    ) => Effect.Effect<number, AuthenticatorResponseInvalid>
  }
>() {}
