import type { CallSignature, ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { Either, Predicate } from "effect"
import type { VendorEvent } from "./AnswerStream.ts"
import { applyStage, type ChunkSource, type StageOutput } from "./ChunkStage.ts"
import type { PartialToolCall } from "./PartialToolCall.ts"
import { countToolCalls, makeToolCallId } from "./VendorConversation.ts"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

type ReportedAnswer = Pick<ProviderEnding, "responseId" | "responseModel">

const maximumReportedLength = 256

const textIn = (...values: ReadonlyArray<unknown>): string | undefined =>
  values
    .filter(Predicate.isString)
    .find((value) => value !== "")
    ?.slice(0, maximumReportedLength)

/** Adds the id and the model of an answer from an event of any vendor. */
const addReported = (known: ReportedAnswer, json: unknown): ReportedAnswer => {
  if (!Predicate.isRecord(json)) return known
  const message = Predicate.isRecord(json["message"]) ? json["message"] : {}
  return {
    responseId: known.responseId ?? textIn(json["id"], json["responseId"], message["id"]),
    responseModel: known.responseModel ?? textIn(json["model"], json["modelVersion"], message["model"])
  }
}

interface AnswerFold<Answer, Chunk, Failure> {
  readonly initial: Answer
  /** Adds a chunk to the answer; also returns the chunk's text. */
  readonly add: (answer: Answer, chunk: Chunk) => readonly [Answer, string]
  readonly end: (answer: Answer) => Either.Either<ModelEvent<ProviderEnding>, Failure>
  /** Returns the tool calls of a complete answer. */
  readonly calls: (answer: Answer) => ReadonlyArray<PartialToolCall>
}

/** Provider, model and conversation of an answer. */
interface AnswerContext extends Omit<CallSignature, "data"> {
  readonly messages: ReadonlyArray<ChatMessage>
}

const toToolCallEvent = ({ messages, model, provider }: AnswerContext) => {
  const callsBefore = countToolCalls(messages)
  return (call: PartialToolCall, index: number): ModelEvent<ProviderEnding> => ({
    type: "tool-call",
    call: {
      id: call.id === "" ? makeToolCallId(callsBefore + index + 1) : call.id,
      name: call.name,
      arguments: call.arguments.trim() === "" ? "{}" : call.arguments,
      ...(call.signature === null ? {} : { signature: { provider, model, data: call.signature } })
    }
  })
}

const keepAlive: ModelEvent<ProviderEnding> = { type: "delta", text: "" }

/**
 * Converts a vendor's answer to model events. Complete tool calls follow in order at the end; a truncated call is
 * dropped.
 */
export const foldAnswer =
  <Answer, Chunk, Failure>({ add, calls, end, initial }: AnswerFold<Answer, Chunk, Failure>) =>
  (context: AnswerContext) =>
  <E>(
    source: ChunkSource<VendorEvent<Chunk>, E>
  ): ChunkSource<ModelEvent<ProviderEnding>, E | Failure | VendorAnswerMalformed> => {
    type Output = StageOutput<ModelEvent<ProviderEnding>, Failure | VendorAnswerMalformed>
    let answer = initial
    let reported: ReportedAnswer = {}
    const toModelEvent = (event: VendorEvent<Chunk>): ModelEvent<ProviderEnding> => {
      if (event.type !== "chunk") return keepAlive
      if (reported.responseId === undefined || reported.responseModel === undefined)
        reported = addReported(reported, event.received)
      const [next, text] = add(answer, event.chunk)
      answer = next
      return { type: "delta", text }
    }
    return applyStage(source, {
      step: (events): Output => ({ values: events.map(toModelEvent) }),
      end: () =>
        Either.match(end(answer), {
          onLeft: (failure): Output => ({ values: [], failure }),
          onRight: (done) => {
            const called = calls(answer)
            return called.some(({ name }) => name === "")
              ? { values: [], failure: new VendorAnswerMalformed({ reason: "tool call without a name" }) }
              : { values: [...called.map(toToolCallEvent(context)), Object.assign({}, reported, done)] }
          }
        })
    })
  }
