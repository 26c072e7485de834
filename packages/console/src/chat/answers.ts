import type { SseEvent } from "@berth/api/http/Sse"
import { RequestFailed, segment, send } from "../api.ts"
import { readEvents, waitToRetry } from "../events.ts"
import type { ToolActivityJson } from "../wire.ts"
import type { Outgoing } from "./attachments.ts"

/** Events of one answer. */
interface AnswerListener {
  readonly onText: (text: string) => void
  readonly onTool: (call: ToolActivityJson) => void
  readonly onMessageId: (messageId: string) => void
  readonly onFailed: (message: string, traceId: string | undefined) => void
  readonly onConnection: (isBroken: boolean) => void
}

/** The stream was interrupted before it named its message; the conversation has it. */
export class StreamLost extends Error {}

export type StreamSource = { readonly response: Response } | { readonly messageId: string }

const stream = { accept: "text/event-stream" } as const

/** Sends a message; a response means that the message is accepted. */
export const openAnswer = ({ attachments, text }: Outgoing, agentId: string, sessionId: string): Promise<Response> =>
  send("POST", "/api/agent", {
    body: {
      message: text,
      agentId,
      sessionId,
      ...(attachments.length === 0 ? {} : { attachments: attachments.map(({ id }) => id) })
    },
    headers: stream
  })

const readText = (data: string, name: string): string | undefined => {
  const value: unknown = JSON.parse(data)
  const member: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
  return typeof member === "string" ? member : undefined
}

const isTool = (value: unknown): value is ToolActivityJson =>
  typeof value === "object" && value !== null && "id" in value && "name" in value && "status" in value

const readTool = (data: string): ToolActivityJson | undefined => {
  const value: unknown = JSON.parse(data)
  return isTool(value) ? value : undefined
}

/** Reads an answer to its end. Resumes an interrupted stream after its last event. */
export const receiveAnswer = async (source: StreamSource, listener: AnswerListener): Promise<void> => {
  let lastEventId: string | undefined
  let messageId = "messageId" in source ? source.messageId : undefined
  let hasEnded = false

  const receive = ({ data, event, id }: SseEvent) => {
    if (id !== undefined && id !== lastEventId) {
      lastEventId = id
      const named = id.split(":")[0]
      if (named !== undefined && named !== messageId) {
        messageId = named
        listener.onMessageId(named)
      }
    }
    if (event === "delta") listener.onText(readText(data, "text") ?? "")
    const call = event === "tool" ? readTool(data) : undefined
    if (call !== undefined) listener.onTool(call)
    if (event === "error") listener.onFailed(readText(data, "message") ?? "", readText(data, "traceId"))
    if (event === "done" || event === "error") hasEnded = true
  }

  const resume = () => {
    if (messageId === undefined) throw new StreamLost()
    return send("GET", `/api/agent/messages/${segment(messageId)}/events`, {
      headers: { ...stream, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) }
    })
  }

  for (let attempt = 0; ; attempt += 1) {
    try {
      const response = attempt === 0 && "response" in source ? source.response : await resume()
      listener.onConnection(false)
      // No content: the last event was the end.
      if (response.status === 204) return
      await readEvents(response, receive)
      if (hasEnded) return
    } catch (cause) {
      if (cause instanceof StreamLost || (cause instanceof RequestFailed && !cause.isTemporary)) throw cause
    }
    if (messageId === undefined) throw new StreamLost()
    listener.onConnection(true)
    await waitToRetry(attempt)
  }
}
