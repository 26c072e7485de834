import { Data, Duration, Redacted } from "effect"
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration
} from "openid-client"
import { isLoopback } from "../net/ListenHosts.ts"

/** A provider gave no usable response. `reason` quotes neither the request nor the response. */
class ProviderRequestFailed extends Data.TaggedError("ProviderRequestFailed")<{ readonly reason: string }> {}

/** Finds the failure in the cause chain of a library's error. */
export const findRequestFailure = (error: unknown, depth = 0): ProviderRequestFailed | undefined => {
  if (error instanceof ProviderRequestFailed) return error
  if (!(error instanceof Error) || depth > 5) return undefined
  return findRequestFailure(error.cause, depth + 1)
}

/** Whether secrets may be sent to an address: over TLS, or to this machine. */
export const isSecureUrl = (url: URL): boolean =>
  url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))

const maximumResponseBytes = 1024 * 1024

const readFully = async (response: Response): Promise<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  const body: AsyncIterable<Uint8Array> | null = response.body
  for await (const chunk of body ?? []) {
    size += chunk.length
    // Exiting the loop cancels the body.
    if (size > maximumResponseBytes) throw new ProviderRequestFailed({ reason: "response too large" })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Statuses that are not a verdict on the request. */
const isOutage = (status: number) => status >= 500 || status === 429 || status === 408

/**
 * `fetch` for OAuth libraries: secure addresses only, limited in size and time including the body; redirects fail, since
 * they could disclose secrets.
 */
export const makeProviderFetch =
  (timeout: Duration.Duration) =>
  async (
    input: string | URL,
    { body = null, ...init }: Omit<RequestInit, "body"> & { readonly body?: RequestInit["body"] | undefined } = {}
  ): Promise<Response> => {
    const url = new URL(input)
    if (!isSecureUrl(url)) throw new ProviderRequestFailed({ reason: "insecure address" })
    const signal = AbortSignal.timeout(Duration.toMillis(timeout))
    try {
      const response = await fetch(url, { ...init, body, redirect: "error", signal })
      if (isOutage(response.status)) {
        await response.body?.cancel()
        throw new ProviderRequestFailed({ reason: `HTTP ${response.status}` })
      }
      const bytes = await readFully(response)
      const { headers, status, statusText } = response
      const isEmpty = status === 204 || status === 205 || status === 304
      return new Response(isEmpty ? null : bytes, { status, statusText, headers })
    } catch (error) {
      if (error instanceof ProviderRequestFailed) throw error
      throw new ProviderRequestFailed({ reason: signal.aborted ? "timeout" : "no connection" })
    }
  }

/**
 * For providers on this machine; `makeProviderFetch` still restricts http to loopback. Not wrapped, since the library
 * compares the function by identity.
 */
// oxlint-disable-next-line typescript/no-deprecated -- the library marks it deprecated as a warning
export const allowHttp: (configuration: Configuration) => void = allowInsecureRequests

/** Client authentication at the token endpoint (RFC 6749, 2.3.1). */
export type OAuthClientAuthentication = "client_secret_basic" | "client_secret_post"

export interface OAuthRegistration {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly clientAuthentication: OAuthClientAuthentication
  readonly redirectUri: URL
  /** Timeout of one exchange; default: 5 s. */
  readonly timeout?: Duration.Duration
}

/** Returns the address to which a provider redirected the user with `query`. */
export const readCallback = (redirectUri: URL, query: Redacted.Redacted<URLSearchParams>): URL => {
  const callback = new URL(redirectUri)
  callback.search = Redacted.value(query).toString()
  return callback
}

export const makeClientAuthentication = (method: OAuthClientAuthentication, secret: Redacted.Redacted): ClientAuth =>
  (method === "client_secret_basic" ? ClientSecretBasic : ClientSecretPost)(Redacted.value(secret))
