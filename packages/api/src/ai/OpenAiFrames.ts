import { encodeSseEvent } from "../http/Sse.ts"
import type { CompletionUsage } from "./OpenAiApi.ts"
import { makeOpenAiFailure } from "./OpenAiErrors.ts"

export interface ToolCallDelta {
  readonly index: number
  readonly id: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

interface CompletionDelta {
  readonly role?: "assistant"
  readonly content?: string
  readonly tool_calls?: ReadonlyArray<ToolCallDelta>
}

export interface StreamHead {
  readonly id: string
  readonly model: string
  /** Epoch seconds. */
  readonly created: number
  /** Whether the last chunk contains the usage, if it is known; then all other chunks have `usage: null`. */
  readonly withUsage: boolean
}

/** Server-sent events of POST /v1/chat/completions. */
export interface OpenAiFrames {
  readonly delta: (delta: CompletionDelta) => string
  /** Returns the last chunk and the end of the stream. */
  readonly end: (finishReason: string, usage?: CompletionUsage) => string
  /** Returns an error body of this service as the last event. */
  readonly error: (status: number, body: unknown) => string
}

const frame = (data: string) => encodeSseEvent({ data })

/** Hot path: constant parts of the chunks are serialized once. */
export const makeOpenAiFrames = ({ created, id, model, withUsage }: StreamHead): OpenAiFrames => {
  const head = `{"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"choices":[`
  const tail = withUsage ? `],"usage":null}` : "]}"
  const chunk = (delta: CompletionDelta, finishReason: string | null) =>
    frame(
      `${head}{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(finishReason)}}${tail}`
    )
  return {
    delta: (delta) => chunk(delta, null),
    end: (finishReason, usage) =>
      chunk({}, finishReason) +
      (withUsage && usage !== undefined ? frame(`${head}],"usage":${JSON.stringify(usage)}}`) : "") +
      frame("[DONE]"),
    error: (status, body) => frame(JSON.stringify(makeOpenAiFailure(status, body).body))
  }
}
