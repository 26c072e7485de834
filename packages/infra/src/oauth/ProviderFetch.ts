import { Data } from "effect"

/** A provider gave no usable answer. `reason` names the trouble and never what was asked or answered. */
export class ProviderRequestFailed extends Data.TaggedError("ProviderRequestFailed")<{ readonly reason: string }> {}

/** Tells that trouble out of the errors that a library has wrapped around it. */
export const findRequestFailure = (error: unknown, depth = 0): ProviderRequestFailed | undefined => {
  if (error instanceof ProviderRequestFailed) return error
  if (!(error instanceof Error) || depth > 5) return undefined
  return findRequestFailure(error.cause, depth + 1)
}

const loopback = new Set(["127.0.0.1", "localhost", "[::1]"])

/** Whether secrets may go to an address: over TLS, or no further than this machine. */
export const isSecureUrl = (url: URL): boolean =>
  url.protocol === "https:" || (url.protocol === "http:" && loopback.has(url.hostname))

const maximumAnswerBytes = 1024 * 1024

const readFully = async (response: Response): Promise<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  let size = 0
  const body: AsyncIterable<Uint8Array> | null = response.body
  for await (const piece of body ?? []) {
    size += piece.length
    // Leaving the loop calls off the rest.
    if (size > maximumAnswerBytes) throw new ProviderRequestFailed({ reason: "an answer without an end" })
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Statuses that say nothing about what was asked. */
const isOutage = (status: number) => status >= 500 || status === 429 || status === 408

export interface ProviderFetchOptions {
  /** How long one exchange may take, the body read. */
  readonly timeoutMillis: number
}

/**
 * A `fetch` for libraries that ask providers: to safe addresses only, redirects refused (they could lead secrets to somebody
 * else), the whole answer within the time and at most a megabyte of it. A provider that is down is an error of its own.
 */
export const makeProviderFetch =
  ({ timeoutMillis }: ProviderFetchOptions) =>
  async (
    input: string | URL,
    { body = null, ...init }: Omit<RequestInit, "body"> & { readonly body?: RequestInit["body"] | undefined } = {}
  ): Promise<Response> => {
    const url = new URL(input)
    if (!isSecureUrl(url)) throw new ProviderRequestFailed({ reason: "an address that is not safe" })
    const signal = AbortSignal.timeout(timeoutMillis)
    try {
      const response = await fetch(url, { ...init, body, redirect: "error", signal })
      if (isOutage(response.status)) {
        await response.body?.cancel()
        throw new ProviderRequestFailed({ reason: `HTTP ${response.status}` })
      }
      const bytes = await readFully(response)
      const { headers: answered, status, statusText } = response
      const isEmpty = status === 204 || status === 205 || status === 304
      return new Response(isEmpty ? null : bytes, { status, statusText, headers: answered })
    } catch (error) {
      if (error instanceof ProviderRequestFailed) throw error
      throw new ProviderRequestFailed({ reason: signal.aborted ? "no answer in time" : "no connection" })
    }
  }
