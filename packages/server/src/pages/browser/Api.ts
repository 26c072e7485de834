import { parseJson, textMember } from "./Json.ts"

export interface Answer {
  readonly status: number
  readonly body: unknown
  /** Whether the service led elsewhere; a script cannot see where. */
  readonly isRedirect: boolean
}

const unreachable = "The service cannot be reached. Look at your connection, then try again."
const notHere = "This is not available here yet."

/** Sends a request; fails only when there was no answer. */
export const ask = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<Answer> => {
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
  return { status: response.status, isRedirect, body: isRedirect ? undefined : parseJson(await response.text()) }
}

export const isGood = ({ isRedirect, status }: Answer): boolean => isRedirect || (status >= 200 && status < 300)

/** What went wrong in a sentence, from an answer that says so. */
export const sentenceOf = ({ body, status }: Answer): string => {
  if (status === 404 && textMember(body, "code") === "route_not_found") return notHere
  const sentence = textMember(body, "message") ?? textMember(body, "error")
  return sentence ?? `That did not work (${status}).`
}

export class Refused extends Error {}

/** Sends a request and takes only a good answer; anything else is an error whose message is for people. */
export const request = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<unknown> => {
  const answer = await ask(method, path, body, headers).catch((cause: unknown) => {
    throw new Refused(unreachable, { cause })
  })
  if (!isGood(answer)) throw new Refused(sentenceOf(answer))
  return answer.body
}

export const explain = (cause: unknown): string => (cause instanceof Refused ? cause.message : unexpected(cause))

const unexpected = (cause: unknown) => {
  reportError(cause)
  return "Something went wrong on this page. Load it again."
}
