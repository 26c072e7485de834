import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { CallSignature } from "@berth/domain/ai/chat/ModelChat"
import { Either } from "effect"
import { makeToolCallId } from "./VendorConversation.ts"
import { type StageOutput, type ChunkSource, applyStage } from "./ChunkStage.ts"
import type { PartialToolCall } from "./PartialToolCall.ts"
import type { VendorEvent } from "./VendorEvent.ts"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

export interface AnswerFold<Answer, Chunk, Failure> {
  readonly initial: Answer
  /** An answer after one more chunk, and the text in that. */
  readonly add: (answer: Answer, chunk: Chunk) => readonly [Answer, string]
  /** What an answer ends with. */
  readonly end: (answer: Answer) => Either.Either<ModelEvent<ProviderEnding>, Failure>
  /** The calls of tools in an answer that has come to its end. */
  readonly calls: (answer: Answer) => ReadonlyArray<PartialToolCall>
}

/** Whose answer is read, and to what. */
export interface AnswerContext extends Omit<CallSignature, "data"> {
  /** Calls of tools that the conversation holds already. */
  readonly callsBefore: number
}

const toChunk =
  ({ callsBefore, model, provider }: AnswerContext) =>
  (call: PartialToolCall, index: number): ModelEvent<ProviderEnding> => ({
    type: "tool-call",
    call: {
      id: call.id === "" ? makeToolCallId(callsBefore + index + 1) : call.id,
      name: call.name,
      arguments: call.arguments.trim() === "" ? "{}" : call.arguments,
      ...(call.signature === null ? {} : { signature: { provider, model, data: call.signature } })
    }
  })

const keepAliveChunk: ModelEvent<ProviderEnding> = { type: "delta", text: "" }

/**
 * What is heard on a wire in the words of the AI layer. Calls of tools are handed on whole and in order, once the model
 * has said that it is done: one that was cut short is never among them.
 */
export const foldAnswer =
  <Answer, Chunk, Failure>({ add, calls, end, initial }: AnswerFold<Answer, Chunk, Failure>) =>
  (context: AnswerContext) =>
  <E>(
    heard: ChunkSource<VendorEvent<Chunk>, E>
  ): ChunkSource<ModelEvent<ProviderEnding>, E | Failure | VendorAnswerMalformed> => {
    const ending = (
      answer: Answer
    ): Either.Either<ReadonlyArray<ModelEvent<ProviderEnding>>, Failure | VendorAnswerMalformed> =>
      Either.flatMap(end(answer), (last) => {
        const called = calls(answer)
        return called.some(({ name }) => name === "")
          ? Either.left(new VendorAnswerMalformed({ reason: "a call of a tool without a name" }))
          : Either.right([...called.map(toChunk(context)), last])
      })
    let answer = initial
    const chunkOf = (event: VendorEvent<Chunk>): ModelEvent<ProviderEnding> => {
      if (event.type !== "chunk") return keepAliveChunk
      const [after, text] = add(answer, event.chunk)
      answer = after
      return { type: "delta", text }
    }
    return applyStage(heard, {
      step: (events): StageOutput<ModelEvent<ProviderEnding>, Failure | VendorAnswerMalformed> => ({
        values: events.map(chunkOf)
      }),
      end: () =>
        Either.match(ending(answer), {
          onLeft: (failure): StageOutput<ModelEvent<ProviderEnding>, Failure | VendorAnswerMalformed> => ({
            values: [],
            failure
          }),
          onRight: (values) => ({ values })
        })
    })
  }
