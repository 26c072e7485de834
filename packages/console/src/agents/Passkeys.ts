import { RequestFailed } from "../api.ts"
import { readListMember, readMember, readTextMember } from "@berth/api/http/JsonMembers"

const reject = (sentence: string) => new RequestFailed(sentence, 400)

const toBytes = (base64Url: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64Url.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0))

const toBase64Url = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

const readBytes = (value: unknown, key: string) => toBytes(readTextMember(value, key) ?? "")

/** Failures that the user can resolve, by name (WebAuthn Level 3). */
const failures: Readonly<Record<string, string>> = {
  InvalidStateError: "This passkey is registered already.",
  NotAllowedError: "No passkey was used. Try again, or register one first.",
  SecurityError: "Passkeys need a host name and https, or localhost.",
  NotSupportedError: "This device cannot make such a passkey."
}

const readCredential = async (request: Promise<Credential | null>): Promise<string> => {
  const credential = await request.catch((cause: unknown) => {
    const sentence = cause instanceof DOMException ? failures[cause.name] : undefined
    if (sentence === undefined) throw cause
    throw reject(sentence)
  })
  if (!(credential instanceof PublicKeyCredential)) throw reject("No passkey was used.")
  return toBase64Url(JSON.stringify(credential.toJSON()))
}

const requireSupport = () => {
  if (!("credentials" in navigator)) throw reject("This browser has no passkeys here.")
}

/** Creates a passkey from the service's options; returns the credential as base64url JSON. */
export const createPasskey = (options: unknown): Promise<string> => {
  requireSupport()
  const [rp, user] = [readMember(options, "rp"), readMember(options, "user")]
  return readCredential(
    navigator.credentials.create({
      publicKey: {
        rp: { id: readTextMember(rp, "id") ?? "", name: readTextMember(rp, "name") ?? "" },
        user: {
          id: readBytes(user, "id"),
          name: readTextMember(user, "name") ?? "",
          displayName: readTextMember(user, "displayName") ?? ""
        },
        challenge: readBytes(options, "challenge"),
        pubKeyCredParams: readListMember(options, "pubKeyCredParams").map((item) => ({
          type: "public-key",
          alg: Number(readMember(item, "alg"))
        })),
        excludeCredentials: readListMember(options, "excludeCredentials").map((item) => ({
          type: "public-key",
          id: readBytes(item, "id")
        })),
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
        attestation: "none"
      }
    })
  )
}

/** Signs a text with a passkey of this site; returns the assertion as base64url JSON. */
export const signWithPasskey = (message: string): Promise<string> => {
  requireSupport()
  return readCredential(
    navigator.credentials.get({
      publicKey: {
        challenge: new TextEncoder().encode(message),
        rpId: location.hostname,
        userVerification: "required"
      }
    })
  )
}
