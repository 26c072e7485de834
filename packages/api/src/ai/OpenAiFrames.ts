import { encodeSseEvent } from "../http/Sse.ts"
import { makeOpenAiFailure } from "./OpenAiErrors.ts"

export interface ToolCallDelta {
  readonly index: number
  readonly id: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

/** Delta of a chunk. */
export interface CompletionDelta {
  readonly role?: "assistant"
  readonly content?: string
  readonly tool_calls?: ReadonlyArray<ToolCallDelta>
}

export interface StreamUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cost: number
}

export interface StreamHead {
  readonly id: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** Whether the last chunk tells the usage; then the others say that they do not. */
  readonly withUsage: boolean
}

/** The frames of a streamed POST /v1/chat/completions. */
export interface OpenAiFrames {
  readonly delta: (delta: CompletionDelta) => string
  /** The end of an answer and of its stream. */
  readonly end: (finishReason: string, usage: StreamUsage) => string
  /** An error in place of the end, in the service's error format. */
  readonly error: (status: number, body: unknown) => string
}

const frame = (data: string) => encodeSseEvent({ data })

/** The constant part of every chunk, encoded once. */
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
      (withUsage ? frame(`${head}],"usage":${JSON.stringify(usage)}}`) : "") +
      frame("[DONE]"),
    error: (status, body) => frame(JSON.stringify(makeOpenAiFailure(status, body).body))
  }
}
