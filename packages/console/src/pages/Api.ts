import { readFieldProblems } from "@berth/api/http/FieldProblems"
import { readTextMember, tryParseJson } from "@berth/api/http/JsonMembers"

interface ApiAnswer {
  readonly status: number
  readonly body: unknown
  /** Whether the response was a redirect, whose target scripts cannot read. */
  readonly isRedirect: boolean
}

const unreachable = "The service cannot be reached. Check your connection, then try again."
const notHere = "This is not available on this server."

/** Sends a request; rejects only without a response. */
const sendRequest = async (method: string, path: string, body?: unknown): Promise<ApiAnswer> => {
  const response = await fetch(path, {
    method,
    redirect: "manual",
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const isRedirect = response.type === "opaqueredirect"
  return { status: response.status, isRedirect, body: isRedirect ? undefined : tryParseJson(await response.text()) }
}

const isSuccess = ({ isRedirect, status }: ApiAnswer): boolean => isRedirect || (status >= 200 && status < 300)

const messageOf = ({ body, status }: ApiAnswer): string => {
  if (status === 404 && readTextMember(body, "code") === "route_not_found") return notHere
  const sentence = readTextMember(body, "message") ?? readTextMember(body, "error")
  return sentence ?? `The request failed (${status}).`
}

export class ApiRequestRejected extends Error {
  readonly fields: ReadonlyMap<string, string>
  constructor(message: string, options?: ErrorOptions, answer?: ApiAnswer) {
    super(message, options)
    this.fields = answer === undefined ? new Map() : readFieldProblems(answer.body)
  }
}

/** Sends a request; every error status rejects with a message for users. */
export const requestSuccess = async (method: string, path: string, body?: unknown): Promise<unknown> => {
  const answer = await sendRequest(method, path, body).catch((cause: unknown) => {
    throw new ApiRequestRejected(unreachable, { cause })
  })
  if (!isSuccess(answer)) throw new ApiRequestRejected(messageOf(answer), undefined, answer)
  return answer.body
}

export const describeFailure = (cause: unknown): string =>
  cause instanceof ApiRequestRejected ? cause.message : reportUnexpected(cause)

const reportUnexpected = (cause: unknown) => {
  reportError(cause)
  return "Something went wrong on this page. Reload it."
}
