import { encodeSseEvent } from "../http/Sse.ts"
import type { CompletionUsage, OpenAiCompletion } from "./OpenAiApi.ts"
import { makeOpenAiFailure } from "./OpenAiErrors.ts"
import type { OpenAiFrames, StreamHead, ToolCallDelta } from "./OpenAiFrames.ts"
import type { ModelResponse, ResponseOutputItem, ResponsePayload } from "./ResponsesApi.ts"

const withoutPrefix = (id: string) => id.slice(id.indexOf("_") + 1)

/** Derives the id of the response from a completion or message. */
const makeResponseId = (id: string): string => `resp_${withoutPrefix(id)}`

/** Derives the id of the response from an output item. */
export const findResponseId = (itemId: string): string =>
  makeResponseId(itemId.slice(0, Math.max(itemId.lastIndexOf("_"), 0)))

type ResponseHead = Pick<StreamHead, "id" | "model" | "created"> & {
  readonly payload: ResponsePayload
  readonly isStored: boolean
}

/** The protocol requires the details; 0 if the provider reports none. */
const toUsage = (usage: CompletionUsage): ModelResponse["usage"] => ({
  input_tokens: usage.prompt_tokens,
  input_tokens_details: usage.prompt_tokens_details ?? { cached_tokens: 0 },
  output_tokens: usage.completion_tokens,
  output_tokens_details: usage.completion_tokens_details ?? { reasoning_tokens: 0 },
  total_tokens: usage.total_tokens,
  cost: usage.cost
})

const incompleteReasons: Readonly<Record<string, string>> = {
  length: "max_output_tokens",
  content_filter: "content_filter"
}

type Progress = Pick<ModelResponse, "status" | "error" | "incomplete_details" | "output" | "usage">
const begun: Progress = { status: "in_progress", error: null, incomplete_details: null, output: [], usage: null }

const makeResponse = (
  { created, id, isStored, model, payload }: ResponseHead,
  progress: Partial<Progress>
): ModelResponse => ({
  id: makeResponseId(id),
  object: "response",
  created_at: created,
  model,
  ...begun,
  ...progress,
  previous_response_id: payload.previous_response_id ?? null,
  store: isStored,
  instructions: payload.instructions ?? null,
  metadata: payload.metadata ?? {},
  tools: payload.tools ?? [],
  tool_choice: payload.tool_choice ?? "auto",
  parallel_tool_calls: payload.parallel_tool_calls ?? true,
  text: payload.text ?? { format: { type: "text" } },
  temperature: payload.temperature ?? null,
  top_p: payload.top_p ?? null,
  max_output_tokens: payload.max_output_tokens ?? null
})

const makeEnding = (finishReason: string, usage: CompletionUsage | undefined): Partial<Progress> => {
  const reason = incompleteReasons[finishReason]
  return {
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    usage: usage === undefined ? null : toUsage(usage)
  }
}

type Message = Extract<ResponseOutputItem, { type: "message" }>
type Call = Extract<ResponseOutputItem, { type: "function_call" }>

const makeTextPart = (text: string): Message["content"][number] => ({
  type: "output_text",
  text,
  annotations: [],
  logprobs: []
})
const makeMessage = (id: string, index: number, text: string): Message => ({
  type: "message",
  id: `msg_${withoutPrefix(id)}_${index}`,
  status: "completed",
  role: "assistant",
  content: [makeTextPart(text)]
})
const makeCall = (id: string, index: number, call: Pick<ToolCallDelta, "id" | "function">): Call => ({
  type: "function_call",
  id: `fc_${withoutPrefix(id)}_${index}`,
  status: "completed",
  call_id: call.id,
  ...call.function
})

export const makeWholeResponse = (
  completion: OpenAiCompletion,
  payload: ResponsePayload,
  isStored: boolean
): ModelResponse => {
  const { created, id, model, usage } = completion
  const [choice] = completion.choices
  const text = choice?.message.content ?? ""
  const calls = choice?.message.tool_calls ?? []
  const messages = text === "" && calls.length > 0 ? [] : [makeMessage(id, 0, text)]
  return makeResponse(
    { id, model, created, payload, isStored },
    {
      ...makeEnding(choice?.finish_reason ?? "stop", usage),
      output: [...messages, ...calls.map((call, index) => makeCall(id, messages.length + index, call))]
    }
  )
}

/** Server-sent events of POST /v1/responses. */
interface ResponseFrames extends OpenAiFrames {
  /** Returns the complete response after `end`. */
  readonly ended: () => ModelResponse | undefined
}

/** Stateful; for one stream. */
export const makeResponseFrames = (head: ResponseHead): ResponseFrames => {
  const { id } = head
  const output: Array<ResponseOutputItem> = []
  let open: { readonly item: Message; readonly texts: Array<string> } | undefined
  let ended: ModelResponse | undefined
  let sequence = -1

  const event = (type: string, members: object) => {
    sequence += 1
    return encodeSseEvent({ event: type, data: JSON.stringify({ type, sequence_number: sequence, ...members }) })
  }
  const itemEvent = (type: string, itemId: string, members: object) =>
    event(type, { item_id: itemId, output_index: output.length, ...members })
  const added = (item: ResponseOutputItem) =>
    event("response.output_item.added", { output_index: output.length, item: { ...item, status: "in_progress" } })
  const done = (item: ResponseOutputItem) => {
    const frame = event("response.output_item.done", { output_index: output.length, item })
    output.push(item)
    return frame
  }

  const openMessage = () => {
    const item = makeMessage(id, output.length, "")
    open = { item, texts: [] }
    return (
      added({ ...item, content: [] }) +
      itemEvent("response.content_part.added", item.id, { content_index: 0, part: makeTextPart("") })
    )
  }
  const closeMessage = () => {
    if (open === undefined) return ""
    const { id: itemId } = open.item
    const item = makeMessage(id, output.length, open.texts.join(""))
    open = undefined
    const [part] = item.content
    return (
      itemEvent("response.output_text.done", itemId, { content_index: 0, text: part?.text, logprobs: [] }) +
      itemEvent("response.content_part.done", itemId, { content_index: 0, part }) +
      done(item)
    )
  }
  const textDelta = (text: string) => {
    const opening = open === undefined ? openMessage() : ""
    open?.texts.push(text)
    const itemId = open?.item.id ?? ""
    return opening + itemEvent("response.output_text.delta", itemId, { content_index: 0, delta: text, logprobs: [] })
  }
  const callFrames = (call: ToolCallDelta) => {
    const item = makeCall(id, output.length, call)
    const { arguments: text, name } = item
    return (
      added({ ...item, arguments: "" }) +
      itemEvent("response.function_call_arguments.delta", item.id, { delta: text }) +
      itemEvent("response.function_call_arguments.done", item.id, { name, arguments: text }) +
      done(item)
    )
  }

  return {
    delta: ({ content = "", role, tool_calls: calls = [] }) => {
      const response = role === undefined ? undefined : makeResponse(head, {})
      return (
        (response === undefined ? "" : event("response.created", { response })) +
        (response === undefined ? "" : event("response.in_progress", { response })) +
        (content === "" ? "" : textDelta(content)) +
        (calls.length === 0 ? "" : closeMessage() + calls.map(callFrames).join(""))
      )
    },
    end: (finishReason, usage) => {
      // An answer without text has one empty message, as in the complete response.
      const last = output.length === 0 && open === undefined ? openMessage() + closeMessage() : closeMessage()
      ended = makeResponse(head, { ...makeEnding(finishReason, usage), output })
      return last + event(`response.${ended.status}`, { response: ended })
    },
    error: (status, body) => {
      const { code, message, param } = makeOpenAiFailure(status, body).body.error
      const error = { code: code ?? "server_error", message }
      return (
        event("error", { ...error, param }) +
        event("response.failed", { response: makeResponse(head, { status: "failed", error, output }) })
      )
    },
    ended: () => ended
  }
}
