import { readTextMember, tryParseJson } from "@berth/api/http/JsonMembers"
import { readFieldProblems } from "@berth/api/http/FieldProblems"

/** An error body of the API, or a missing response. */
export class RequestFailed extends Error {
  readonly status: number
  readonly code: string
  readonly traceId: string | undefined
  /** Messages by field. */
  readonly problems: ReadonlyMap<string, string>
  constructor(message: string, status: number, body?: unknown) {
    super(message)
    this.status = status
    this.code = readTextMember(body, "code") ?? ""
    this.traceId = readTextMember(body, "traceId")
    this.problems = readFieldProblems(body)
  }
  /** A later attempt may succeed. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

const unreachable = "The service cannot be reached. Check your connection, then try again."

const toFailure = async (response: Response): Promise<RequestFailed> => {
  const body = tryParseJson(await response.text())
  return new RequestFailed(
    readTextMember(body, "message") ?? readTextMember(body, "error") ?? `The request failed (${response.status}).`,
    response.status,
    body
  )
}

let isLeaving = false

/** The session ended: signs in and returns here. One navigation for all requests that detect it. */
const signInAgain = () => {
  if (isLeaving) return
  isLeaving = true
  // The user can cancel the navigation to keep unsaved changes.
  setTimeout(() => (isLeaving = false), 5_000)
  const here = location.pathname + location.search
  location.assign(`/login?${new URLSearchParams({ callbackUrl: here }).toString()}`)
}

// The contract of packages/api types the bodies; the service and this page are built together.
const isBody = <A>(value: unknown): value is A => value !== undefined

interface RequestOptions {
  readonly body?: unknown
  /** Sent unchanged instead of `body`. */
  readonly content?: Blob | undefined
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

const addressOf = (path: string, query: RequestOptions["query"]) => {
  const parameters = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]]
  )
  return parameters.length === 0 ? path : `${path}?${new URLSearchParams(parameters).toString()}`
}

/** Sends a request and returns the open response on success. */
export const send = async (
  method: string,
  path: string,
  { body, content, headers, query, signal }: RequestOptions = {}
): Promise<Response> => {
  const response = await fetch(addressOf(path, query), {
    method,
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(content === undefined ? {} : { "content-type": "application/octet-stream" }),
      ...headers
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(content === undefined ? {} : { body: content }),
    ...(signal === undefined ? {} : { signal })
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause
    throw new RequestFailed(unreachable, 0)
  })
  if (response.ok) return response
  const failure = await toFailure(response)
  if (failure.status === 401 && failure.code === "unauthorized") signInAgain()
  throw failure
}

export const receiveBody = async <A>(response: Response): Promise<A> => {
  const body = tryParseJson(await response.text())
  if (!isBody<A>(body)) throw new RequestFailed("The service answered without a body.", response.status)
  return body
}

export const call = async <A>(method: string, path: string, options: RequestOptions = {}): Promise<A> =>
  receiveBody(await send(method, path, options))

interface AccessToken {
  readonly token: string
}

/** Well below the lifetime of an access token: with a wrong clock, `expiresAt` is meaningless. */
const tokenReuseMs = 5 * 60_000

let accessToken: { readonly answer: Promise<AccessToken>; readonly requestedAt: number } | undefined

/** The billing routes require an access token instead of the session. */
const takeToken = async (): Promise<string> => {
  const now = Date.now()
  if (accessToken === undefined || Math.abs(now - accessToken.requestedAt) > tokenReuseMs)
    accessToken = { answer: call("POST", "/api/auth/token"), requestedAt: now }
  const { token } = await accessToken.answer.catch((cause: unknown) => {
    accessToken = undefined
    throw cause
  })
  return token
}

export const callBilling = async <A>(method: string, path: string, options: RequestOptions = {}): Promise<A> =>
  call<A>(method, path, {
    ...options,
    headers: { ...options.headers, authorization: `Bearer ${await takeToken()}` }
  })

export const segment = (text: string) => encodeURIComponent(text)
