import type { CallSignature, ChatChunk } from "@berth/domain/ai/ModelChat"
import { Either } from "effect"
import { placeId } from "./Conversation.ts"
import { type Made, type Pull, through } from "./Pull.ts"
import type { GatheredCall } from "./ToolCalls.ts"
import type { WireEvent } from "./WireEvent.ts"
import { AnswerIsNonsense } from "./WireFailure.ts"

export interface AnswerReading<Answer, Chunk, Failure> {
  readonly nothing: Answer
  /** An answer after one more chunk, and the text in that. */
  readonly add: (answer: Answer, chunk: Chunk) => readonly [Answer, string]
  /** What an answer ends with. */
  readonly end: (answer: Answer) => Either.Either<ChatChunk, Failure>
  /** The calls of tools in an answer that has come to its end. */
  readonly calls: (answer: Answer) => ReadonlyArray<GatheredCall>
}

/** Whose answer is read, and to what. */
export interface AnswerContext extends Omit<CallSignature, "data"> {
  /** Calls of tools that the conversation holds already. */
  readonly callsBefore: number
}

const toChunk =
  ({ callsBefore, model, provider }: AnswerContext) =>
  (call: GatheredCall, index: number): ChatChunk => ({
    type: "tool-call",
    call: {
      id: call.id === "" ? placeId(callsBefore + index + 1) : call.id,
      name: call.name,
      arguments: call.arguments.trim() === "" ? "{}" : call.arguments,
      ...(call.signature === null ? {} : { signature: { provider, model, data: call.signature } })
    }
  })

const signOfLife: ChatChunk = { type: "text", text: "" }

/**
 * What is heard on a wire in the words of the AI layer. Calls of tools are handed on whole and in order, once the model
 * has said that it is done: one that was cut short is never among them.
 */
export const foldAnswer =
  <Answer, Chunk, Failure>({ add, calls, end, nothing }: AnswerReading<Answer, Chunk, Failure>) =>
  (context: AnswerContext) =>
  <E>(heard: Pull<WireEvent<Chunk>, E>): Pull<ChatChunk, E | Failure | AnswerIsNonsense> => {
    const ending = (answer: Answer): Either.Either<ReadonlyArray<ChatChunk>, Failure | AnswerIsNonsense> =>
      Either.flatMap(end(answer), (last) => {
        const called = calls(answer)
        return called.some(({ name }) => name === "")
          ? Either.left(new AnswerIsNonsense({ reason: "a call of a tool without a name" }))
          : Either.right([...called.map(toChunk(context)), last])
      })
    let answer = nothing
    const chunkOf = (event: WireEvent<Chunk>): ChatChunk => {
      if (event.type !== "chunk") return signOfLife
      const [after, text] = add(answer, event.chunk)
      answer = after
      return { type: "text", text }
    }
    return through(heard, {
      step: (events): Made<ChatChunk, Failure | AnswerIsNonsense> => ({ values: events.map(chunkOf) }),
      end: () =>
        Either.match(ending(answer), {
          onLeft: (failure): Made<ChatChunk, Failure | AnswerIsNonsense> => ({ values: [], failure }),
          onRight: (values) => ({ values })
        })
    })
  }
