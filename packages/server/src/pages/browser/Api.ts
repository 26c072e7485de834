import { tryParseJson, readTextMember } from "./Json.ts"

export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
  /** Whether the response was a redirect; a script cannot read its target. */
  readonly isRedirect: boolean
}

const unreachable = "The service cannot be reached. Look at your connection, then try again."
const notHere = "This is not available here yet."

/** Sends a request; rejects only without a response. */
export const sendRequest = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<ApiAnswer> => {
  const response = await fetch(path, {
    method,
    redirect: "manual",
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const isRedirect = response.type === "opaqueredirect"
  return { status: response.status, isRedirect, body: isRedirect ? undefined : tryParseJson(await response.text()) }
}

export const isSuccess = ({ isRedirect, status }: ApiAnswer): boolean => isRedirect || (status >= 200 && status < 300)

/** The message of an error body. */
export const messageOf = ({ body, status }: ApiAnswer): string => {
  if (status === 404 && readTextMember(body, "code") === "route_not_found") return notHere
  const sentence = readTextMember(body, "message") ?? readTextMember(body, "error")
  return sentence ?? `That did not work (${status}).`
}

export class ApiRequestRejected extends Error {}

/** Sends a request; every error status rejects with a message for people. */
export const requestSuccess = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<unknown> => {
  const answer = await sendRequest(method, path, body, headers).catch((cause: unknown) => {
    throw new ApiRequestRejected(unreachable, { cause })
  })
  if (!isSuccess(answer)) throw new ApiRequestRejected(messageOf(answer))
  return answer.body
}

export const describeFailure = (cause: unknown): string =>
  cause instanceof ApiRequestRejected ? cause.message : reportUnexpected(cause)

const reportUnexpected = (cause: unknown) => {
  reportError(cause)
  return "Something went wrong on this page. Load it again."
}
