import { Either } from "effect"
import { type StageOutput, type ChunkSource, applyStage, makeStage } from "./ChunkStage.ts"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

/** The data of one server-sent event, or bytes that ended none: a comment, or a part of an event. */
export type SseToken = { readonly type: "event"; readonly data: string } | { readonly type: "keep-alive" }

/** What of the stream has not become an event yet. */
export interface SseParserState {
  readonly line: string
  readonly data: ReadonlyArray<string>
  /** The text so far ends in a carriage return, and a line feed next would be part of it. */
  readonly endsInReturn: boolean
}

export const initialSseParserState: SseParserState = { line: "", data: [], endsInReturn: false }

// In characters; an answer's pieces are a few dozen.
const maximumEventLength = 1024 * 1024

const sizeOf = ({ data, line }: SseParserState) => data.reduce((size, part) => size + part.length, line.length)

/** The events that some more text brings to their end, and what is left over. Of an event only its data counts here. */
export const parseSseText = (
  before: SseParserState,
  text: string
): Either.Either<readonly [SseParserState, ReadonlyArray<string>], VendorAnswerMalformed> => {
  if (text === "") return Either.right([before, []])
  const fresh = before.endsInReturn && text.startsWith("\n") ? text.slice(1) : text
  const [first = "", ...others] = fresh.split(/\r\n|\n|\r/)
  const lines = [before.line + first, ...others]
  const line = lines.pop() ?? ""
  const events: Array<string> = []
  let data: Array<string> = [...before.data]
  for (const whole of lines) {
    if (whole === "") {
      if (data.length > 0) events.push(data.join("\n"))
      data = []
    } else if (whole === "data" || whole.startsWith("data:")) {
      data.push(whole.slice(5).replace(/^ /, ""))
    }
  }
  const after = { line, data, endsInReturn: text.endsWith("\r") }
  return sizeOf(after) > maximumEventLength
    ? Either.left(new VendorAnswerMalformed({ reason: "an event without an end" }))
    : Either.right([after, events])
}

/** Server-sent events as their text comes in. What is left over at its end is no event. */
export const parseSseEvents = <E>(texts: ChunkSource<string, E>): ChunkSource<SseToken, E | VendorAnswerMalformed> => {
  let unfinished = initialSseParserState
  return applyStage(
    texts,
    makeStage((given): StageOutput<SseToken, VendorAnswerMalformed> => {
      const values: Array<SseToken> = []
      for (const text of given) {
        const heard = parseSseText(unfinished, text)
        if (Either.isLeft(heard)) return { values, failure: heard.left }
        const [after, events] = heard.right
        unfinished = after
        if (events.length === 0) values.push({ type: "keep-alive" })
        for (const data of events) values.push({ type: "event", data })
      }
      return { values }
    })
  )
}
