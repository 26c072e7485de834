import { ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import { findResponseId, makeResponseFrames, makeWholeResponse } from "@berth/api/ai/ResponseFrames"
import {
  ModelResponse,
  type ResponseInputItem,
  type ResponseInputQuery,
  ResponseItem,
  ResponseNotFound,
  type ResponsePayload
} from "@berth/api/ai/ResponsesApi"
import {
  maximumBytesOfChain,
  type StoredOutput,
  StoredResponses
} from "@berth/domain/gateway/responses/StoredResponses"
import { Principal } from "@berth/domain/sessions/Principal"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, Predicate, Schema } from "effect"
import { readItems } from "../ai/ResponseRequest.ts"
import type { CompletionFormat } from "./CompletionFormat.ts"

const decodeItems = Schema.decodeUnknown(Schema.Array(ResponseItem))
const readStored = (items: ReadonlyArray<unknown>) => Effect.orDie(decodeItems(items))

const decodeResponse = Schema.decodeUnknown(ModelResponse)

/** Larger inputs are answered but not stored. */
const maximumStoredCharacters = 1024 * 1024
/** Low, since each can be a complete answer. */
const maximumReferences = 500

const referencesTooLong = new ParameterUnsupported({
  parameter: "input",
  reason: `refers to over ${maximumBytesOfChain / 1024 / 1024} MiB; send the items themselves`
})

/** Converts an item for lists. `id` is for an item sent without one. */
const toInputItem = (item: ResponseItem, id: string): ResponseInputItem => {
  const own = { id: "id" in item && item.id !== undefined ? item.id : id, status: "completed" as const }
  if (item.type === "function_call" || item.type === "function_call_output") return { ...item, ...own }
  const type = item.role === "assistant" ? ("output_text" as const) : ("input_text" as const)
  const content = typeof item.content === "string" ? [{ type, text: item.content }] : item.content
  return { ...own, type: "message", role: item.role, content }
}

/** Responses, stored for later calls of their owner unless the request disables it. */
export const makeResponseCalls = Effect.map(StoredResponses, (stored) => {
  const findItem = (responses: ReadonlyArray<StoredOutput>, id: string) => {
    const response = responses.find((stored) => stored.id === findResponseId(id))
    return Effect.fromNullable(
      response?.output.find((item) => Predicate.hasProperty(item, "id") && item.id === id)
    ).pipe(Effect.mapError(() => new ResponseNotFound({ response: id })))
  }

  /** Returns the items of the request; ids of stored responses are replaced with their items. */
  const resolveItems = Effect.fn("ResponseCalls.resolveItems")(function* (owner: UserId, payload: ResponsePayload) {
    const items = readItems(payload)
    const references = items.flatMap((item) => (item.type === "item_reference" ? [item.id] : []))
    if (references.length > maximumReferences)
      return yield* new ParameterUnsupported({ parameter: "input", reason: `has over ${maximumReferences} references` })
    const { previous_response_id: previousId } = payload
    const earlier =
      previousId === undefined
        ? []
        : yield* Effect.mapError(
            stored.findChain(owner, previousId),
            () =>
              new ParameterUnsupported({
                parameter: "previous_response_id",
                reason: `the conversation has over ${maximumBytesOfChain / 1024 / 1024} MiB; send the items in input`
              })
          )
    if (previousId !== undefined && earlier.length === 0) return yield* new ResponseNotFound({ response: previousId })
    const referred =
      references.length === 0
        ? []
        : yield* Effect.mapError(
            stored.findOutputs(owner, [...new Set(references.map(findResponseId))]),
            () => referencesTooLong
          )
    let referredLength = 0
    const input = yield* Effect.forEach(items, (item) =>
      item.type === "item_reference"
        ? findItem(referred, item.id).pipe(
            Effect.filterOrFail(
              (item) => (referredLength += JSON.stringify(item).length) <= maximumBytesOfChain,
              () => referencesTooLong
            ),
            Effect.flatMap((item) => readStored([item]))
          )
        : Effect.succeed([item])
    )
    const before = yield* readStored(earlier.flatMap((response) => [...response.input, ...response.output]))
    return { before, input: input.flat() }
  })

  /** Formats the answer as a response; with `save`, stores it before its end is sent. */
  const makeFormat = (
    payload: ResponsePayload,
    save?: (response: ModelResponse) => Effect.Effect<void>
  ): CompletionFormat => {
    const isStored = save !== undefined
    const store = save ?? (() => Effect.void)
    return {
      makeFrames: (head) => {
        const frames = makeResponseFrames({ ...head, payload, isStored })
        return {
          frames,
          finish: (read) =>
            Effect.tap(read, (written) => {
              const ended = frames.ended()
              return written === null || ended === undefined ? Effect.void : store(ended)
            })
        }
      },
      makeBody: (completion) => {
        const response = makeWholeResponse(completion, payload, isStored)
        return Effect.as(store(response), response)
      }
    }
  }

  const makeSave =
    (owner: UserId, input: ReadonlyArray<ResponseItem>) =>
    ({ output, ...response }: ModelResponse) =>
      stored.save(owner, { id: response.id, previousId: response.previous_response_id, input, output, response })

  const makeModelFormat = (owner: UserId, payload: ResponsePayload, input: ReadonlyArray<ResponseItem>) =>
    payload.store === false || JSON.stringify(input).length > maximumStoredCharacters
      ? makeFormat(payload)
      : makeFormat(payload, makeSave(owner, input))

  const requireStored = (id: string) => () => new ResponseNotFound({ response: id })

  const find = Effect.fn("ResponseCalls.find")(function* (
    id: string,
    { stream }: { readonly stream?: boolean | undefined }
  ) {
    if (stream === true)
      return yield* new ParameterUnsupported({ parameter: "stream", reason: "a stored response is returned whole" })
    const { user } = yield* Principal
    const response = yield* Effect.mapError(yield* stored.find(user.id, id), requireStored(id))
    return yield* Effect.orDie(decodeResponse(response))
  })

  const listInput = Effect.fn("ResponseCalls.listInput")(function* (
    id: string,
    { after, limit, order }: ResponseInputQuery
  ) {
    const { user } = yield* Principal
    const storedInput = yield* Effect.mapError(yield* stored.findInput(user.id, id), requireStored(id))
    const items = (yield* readStored(storedInput)).map((item, at) => toInputItem(item, `${id}_in${at}`))
    const ordered = order === "asc" ? items : items.toReversed()
    const start = after === undefined ? 0 : ordered.findIndex((item) => item.id === after) + 1
    if (after !== undefined && start === 0)
      return yield* new ParameterUnsupported({ parameter: "after", reason: "no item of the response has this id" })
    const data = ordered.slice(start, start + limit)
    return {
      object: "list" as const,
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: start + limit < ordered.length
    }
  })

  const remove = Effect.fn("ResponseCalls.remove")(function* (id: string) {
    const { user } = yield* Principal
    if (!(yield* stored.remove(user.id, id))) return yield* requireStored(id)()
    return { id, object: "response" as const, deleted: true as const }
  })

  return {
    find,
    listInput,
    remove,
    resolveItems,
    makeModelFormat,
    makeAgentFormat: (payload: ResponsePayload) => makeFormat(payload)
  }
})
