import { HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { DateTime, Duration, Effect, Schedule, Schema } from "effect"
import { SignJWT } from "jose"
import { createHash, randomBytes } from "node:crypto"
import { type ApiCallFailed, makeApiCall } from "../net/ApiCalls.ts"
import type { CdpSigningKey } from "./CdpKeys.ts"

export interface CdpAccess {
  readonly apiUrl: URL
  readonly apiKeyId: string
  readonly apiKey: CdpSigningKey
  readonly walletKey: CdpSigningKey
}

const Account = Schema.Struct({
  address: Schema.String.pipe(Schema.pattern(/^0x[0-9a-fA-F]{40}$/)),
  name: Schema.optional(Schema.String)
})

const retries = Schedule.intersect(Schedule.recurs(2), Schedule.exponential(Duration.millis(200)))
const tokenSeconds = 120

const canRetry = ({ status }: ApiCallFailed) => status === null || status >= 500

/**
 * Client of EVM accounts in the CDP API v2. Every call is authenticated for its method, path and body, and has a
 * timeout.
 */
export const makeCdpClient = ({ apiKey, apiKeyId, apiUrl, walletKey }: CdpAccess) =>
  Effect.map(HttpClient.HttpClient, (client) => {
    const call = makeApiCall(client)
    const base = apiUrl.href.replace(/\/$/, "")

    const sign = (
      key: CdpSigningKey,
      header: Record<string, string>,
      claims: (issuedAt: number) => Record<string, unknown>
    ) =>
      Effect.flatMap(DateTime.now, (now) => {
        const issuedAt = Math.floor(now.epochMillis / 1000)
        return Effect.promise(() =>
          new SignJWT({ ...claims(issuedAt), iat: issuedAt, nbf: issuedAt })
            .setProtectedHeader({ alg: key.algorithm, typ: "JWT", ...header })
            .sign(key.key)
        )
      })

    const nonce = Effect.sync(() => randomBytes(16).toString("hex"))

    /** Both tokens name the request, so that they are invalid for any other request. */
    const authenticate = Effect.fnUntraced(function* (method: "GET" | "POST", path: string, body: string | undefined) {
      const url = new URL(`${base}${path}`)
      const uris = [`${method} ${url.host}${url.pathname}`]
      const bearer = yield* sign(apiKey, { kid: apiKeyId, nonce: yield* nonce }, (issuedAt) => ({
        iss: "cdp",
        sub: apiKeyId,
        uris,
        exp: issuedAt + tokenSeconds
      }))
      if (body === undefined) return { authorization: `Bearer ${bearer}` }
      const reqHash = createHash("sha256").update(body).digest("hex")
      const jti = yield* nonce
      const wallet = yield* sign(walletKey, {}, () => ({ uris, reqHash, jti }))
      return { authorization: `Bearer ${bearer}`, "x-wallet-auth": wallet }
    })

    const send = (request: HttpClientRequest.HttpClientRequest) =>
      call(request, HttpClientResponse.schemaBodyJson(Account))

    return {
      createAccount: Effect.fn("CdpClient.createAccount")(function* (name: string, idempotencyKey: string) {
        const path = "/v2/evm/accounts"
        const body = JSON.stringify({ name })
        const attempt = Effect.flatMap(authenticate("POST", path, body), (headers) =>
          send(
            HttpClientRequest.post(`${base}${path}`, {
              headers: { ...headers, "x-idempotency-key": idempotencyKey }
            }).pipe(HttpClientRequest.bodyText(body, "application/json"))
          )
        )
        return yield* Effect.retry(attempt, { schedule: retries, while: canRetry })
      }),
      findAccount: Effect.fn("CdpClient.findAccount")(function* (name: string) {
        const path = `/v2/evm/accounts/by-name/${encodeURIComponent(name)}`
        const attempt = Effect.flatMap(authenticate("GET", path, undefined), (headers) =>
          send(HttpClientRequest.get(`${base}${path}`, { headers }))
        )
        return yield* Effect.retry(attempt, { schedule: retries, while: canRetry })
      })
    }
  })
