import { AuthenticatorResponseInvalid, WebAuthn } from "@berth/domain/verification/WebAuthn"
import { type WebAuthnCredential, webAuthnAlgorithms } from "@berth/domain/verification/WebAuthnCredential"
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server"
import { decodeAttestationObject, decodeClientDataJSON } from "@simplewebauthn/server/helpers"
import { Effect, Encoding, Layer, Option, Schema } from "effect"

const credentialFields = {
  id: Schema.String,
  rawId: Schema.String,
  type: Schema.Literal("public-key"),
  clientExtensionResults: Schema.optionalWith(Schema.Struct({}), { default: () => ({}) })
}
const RegistrationResponse = Schema.parseJson(
  Schema.Struct({
    ...credentialFields,
    response: Schema.Struct({ clientDataJSON: Schema.String, attestationObject: Schema.String })
  })
)
const AssertionResponse = Schema.parseJson(
  Schema.Struct({
    ...credentialFields,
    response: Schema.Struct({
      clientDataJSON: Schema.String,
      authenticatorData: Schema.String,
      signature: Schema.String
    })
  })
)

const invalid = (reason: string) => new AuthenticatorResponseInvalid({ reason })

const read = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (response: string) =>
    Option.flatMap(Option.getRight(Encoding.decodeBase64UrlString(response.replace(/={1,2}$/, ""))), decode)
}
const readRegistration = read(RegistrationResponse)
const readAssertion = read(AssertionResponse)

const check = <A>(verify: () => Promise<A>) =>
  Effect.tryPromise({
    try: verify,
    // The library's messages quote values of the response.
    catch: (cause) => invalid(cause instanceof Error ? cause.message.slice(0, 200) : "unreadable")
  })

const decodeBytes = (text: string) =>
  Encoding.decodeBase64Url(text).pipe(Effect.mapError(() => invalid("not base64url")))

/** Rejects responses from pages embedded in other sites. */
const requireSameOrigin = (clientDataJson: string) =>
  Effect.filterOrFail(
    check(async () => decodeClientDataJSON(clientDataJson)),
    ({ crossOrigin }) => crossOrigin !== true,
    () => invalid("cross-origin")
  )

/** Attestation is not requested. Certificates could cause the library to request URLs chosen by the client. */
const requireNoCertificates = Effect.fnUntraced(function* (attestationObject: string) {
  const bytes = yield* decodeBytes(attestationObject)
  const decoded = yield* check(async () => decodeAttestationObject(new Uint8Array(bytes)))
  const format = decoded.get("fmt")
  if (format !== "none" && (format !== "packed" || decoded.get("attStmt").get("x5c") !== undefined))
    return yield* invalid("attestation with certificates")
})

export const layer = ({ appUrl }: { readonly appUrl: URL }): Layer.Layer<WebAuthn> => {
  const expected = (message: string) => ({
    expectedChallenge: Encoding.encodeBase64Url(message),
    expectedOrigin: appUrl.origin,
    expectedRPID: appUrl.hostname,
    requireUserVerification: true
  })
  return Layer.succeed(WebAuthn, {
    verifyRegistration: Effect.fn("WebAuthn.verifyRegistration")(function* (text: string, message: string) {
      const response = yield* Effect.mapError(readRegistration(text), () => invalid("malformed"))
      yield* requireSameOrigin(response.response.clientDataJSON)
      yield* requireNoCertificates(response.response.attestationObject)
      const { registrationInfo, verified } = yield* check(() =>
        verifyRegistrationResponse({
          response,
          ...expected(message),
          supportedAlgorithmIDs: [...webAuthnAlgorithms]
        })
      )
      if (!verified) return yield* invalid("not verified")
      const { counter, id, publicKey } = registrationInfo.credential
      return { id, publicKey, counter }
    }),
    readCredentialId: (text) => Option.map(readAssertion(text), ({ id }) => id),
    verifyAssertion: Effect.fn("WebAuthn.verifyAssertion")(function* (
      text: string,
      message: string,
      credential: WebAuthnCredential
    ) {
      const response = yield* Effect.mapError(readAssertion(text), () => invalid("malformed"))
      yield* requireSameOrigin(response.response.clientDataJSON)
      const { authenticationInfo, verified } = yield* check(() =>
        verifyAuthenticationResponse({
          response,
          ...expected(message),
          credential: { ...credential, publicKey: new Uint8Array(credential.publicKey) }
        })
      )
      if (!verified) return yield* invalid("wrong signature")
      return authenticationInfo.newCounter
    })
  })
}
