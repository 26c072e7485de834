import { Effect, type Scope } from "effect"
import {
  calculateJwkThumbprint,
  CompactSign,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload
} from "jose"
import type { IncomingMessage } from "node:http"
import { readFormBody, sendJson, respondWithFault, type ServerFault, startFakeServer } from "./FaultyServer.ts"

interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly publicJwk: JWK
  readonly privateKey: CryptoKey
}

export const makeSigningKey = async (alg = "RS256"): Promise<SigningKey> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const publicJwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(publicJwk)
  return { kid, alg, privateKey, publicJwk: { ...publicJwk, kid, alg, use: "sig" } }
}

/** A token signed by a key, with a default header. */
export const signToken = (
  { alg, kid, privateKey }: SigningKey,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, string>> = {}
): Promise<string> =>
  // Not signed as a JWT, whose claims the library checks: some networks write numbers where the standard requires
  // strings.
  new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey)

/** A token without a signature. */
export const makeUnsignedToken = (claims: JWTPayload): string =>
  [{ alg: "none" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".") + "."

/** Creates the response of the token endpoint. */
type TokenResponder = (form: URLSearchParams, request: IncomingMessage) => unknown

export interface FakeIssuer {
  readonly origin: URL
  readonly key: SigningKey
  readonly respondToTokenWith: (answer: TokenResponder) => void
  /** Overrides members of the metadata. */
  readonly changeMetadata: (changes: Readonly<Record<string, unknown>>) => void
  readonly setFault: (path: IssuerPath, how: ServerFault | null) => void
  readonly requestCount: (path: IssuerPath) => number
}

type IssuerPath = "/.well-known/openid-configuration" | "/jwks" | "/token"

/** An issuer with configurable tokens and metadata, including values that no real provider sends. */
export const makeFakeIssuer: Effect.Effect<FakeIssuer, never, Scope.Scope> = Effect.gen(function* () {
  const key = yield* Effect.promise(() => makeSigningKey())
  const faults = new Map<string, ServerFault>()
  const counts = new Map<string, number>()
  let changes: Readonly<Record<string, unknown>> = {}
  let answer: TokenResponder = () => ({ error: "invalid_grant" })

  const origin = yield* startFakeServer((at) => (request, response) => {
    const { pathname } = new URL(request.url ?? "/", at)
    counts.set(pathname, (counts.get(pathname) ?? 0) + 1)
    const how = faults.get(pathname)
    if (how !== undefined) return respondWithFault(response, how)
    if (pathname === "/jwks") return sendJson(response, 200, { keys: [key.publicJwk] })
    if (pathname === "/token") {
      void readFormBody(request).then(async (form) => {
        const body: unknown = await answer(form, request)
        const isRefusal = typeof body === "object" && body !== null && "error" in body
        sendJson(response, isRefusal ? 400 : 200, body)
      })
      return
    }
    return sendJson(response, 200, {
      issuer: at.origin,
      authorization_endpoint: `${at.origin}/authorize`,
      token_endpoint: `${at.origin}/token`,
      jwks_uri: `${at.origin}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256", "ES256", "HS256", "none"],
      ...changes
    })
  })
  return {
    origin,
    key,
    respondToTokenWith: (next) => {
      answer = next
    },
    changeMetadata: (next) => {
      changes = next
    },
    setFault: (path, how) => {
      if (how === null) faults.delete(path)
      else faults.set(path, how)
    },
    requestCount: (path) => counts.get(path) ?? 0
  }
})
