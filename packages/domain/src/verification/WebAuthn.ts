import { Context, Data, type Effect, type Option } from "effect"
import type { WebAuthnCredential } from "./WebAuthnCredential.ts"

/**
 * The authenticator's response does not prove the challenge, or its counter did not increase. `reason` is for the log.
 */
export class AuthenticatorResponseInvalid extends Data.TaggedError("AuthenticatorResponseInvalid")<{
  readonly reason: string
}> {}

/** Characters; responses usually have about 1,000. */
export const maximumAuthenticatorResponse = 16 * 1024

/** WebAuthn Level 3 for the origin and the host of `APP_URL`, with user verification. Responses are base64url of their JSON. */
export class WebAuthn extends Context.Tag("@berth/WebAuthn")<
  WebAuthn,
  {
    /** Verifies a registration of the message and returns the new credential. */
    readonly verifyRegistration: (
      response: string,
      message: string
    ) => Effect.Effect<WebAuthnCredential, AuthenticatorResponseInvalid>
    /** Returns the credential id in a response, unverified. */
    readonly readCredentialId: (response: string) => Option.Option<string>
    /** Verifies an assertion of the message and returns the new counter. */
    readonly verifyAssertion: (
      response: string,
      message: string,
      credential: WebAuthnCredential
    ) => Effect.Effect<number, AuthenticatorResponseInvalid>
  }
>() {}
