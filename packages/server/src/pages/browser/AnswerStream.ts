import { makeSseParser, type SseEvent } from "@berth/api/http/Sse"
import { type ApiRequestRejected, toRejection, toUnreachable } from "./Api.ts"
import { tryParseJson } from "./Json.ts"
import { retryUntilAvailable } from "./Retry.ts"

const path = "/api/agent"

interface StreamRequest {
  readonly path: string
  readonly body?: unknown
  /** The last event that was received. */
  readonly after?: string | undefined
}

const openStream = async ({ after, body, path: url }: StreamRequest): Promise<Response> => {
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: "text/event-stream",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(after === undefined ? {} : { "last-event-id": after })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  }).catch((cause: unknown) => {
    throw toUnreachable(cause)
  })
  if (response.ok) return response
  throw toRejection({ status: response.status, isRedirect: false, body: tryParseJson(await response.text()) })
}

/** Sends a message; a response means that it is accepted. */
export const sendMessage = (message: string, agentId: string): Promise<Response> =>
  openStream({ path, body: { message, agentId } })

const readEvents = async (response: Response, onEvent: (event: SseEvent) => void): Promise<void> => {
  const parser = makeSseParser()
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
    for (const event of parser.push(decoder.decode(part.value, { stream: true }))) onEvent(event)
}

/** An accepted message whose stream broke before it had an id. */
export class AnswerLost extends Error {}

/** The stream of an answer, or the id of its message. */
export type AnswerSource = { readonly response: Response } | { readonly messageId: string }

/** Reads an answer to its `done` or `error`. A broken stream is resumed behind its last event. */
export const readAnswer = (
  source: AnswerSource,
  onEvent: (event: SseEvent) => void,
  onConnection: (broken: ApiRequestRejected | undefined) => void
): Promise<void> => {
  let last: string | undefined
  let isDone = false
  const receive = (event: SseEvent) => {
    last = event.id ?? last
    isDone = event.event === "done" || event.event === "error"
    onEvent(event)
  }
  const resume = () => {
    const messageId = last?.split(":")[0] ?? ("messageId" in source ? source.messageId : undefined)
    if (messageId === undefined) throw new AnswerLost()
    return openStream({ path: `${path}/messages/${encodeURIComponent(messageId)}/events`, after: last })
  }
  return retryUntilAvailable(async (attempt) => {
    const response = attempt === 0 && "response" in source ? source.response : await resume()
    onConnection(undefined)
    await readEvents(response, receive).catch((cause: unknown) => {
      throw toUnreachable(cause)
    })
    // No content: the last event was the end.
    if (!isDone && response.status !== 204) throw toUnreachable(undefined)
  }, onConnection)
}
