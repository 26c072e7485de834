import { makeSseParser } from "@berth/api/http/Sse"
import { type StageOutput, type ChunkSource, applyStage, makeStage } from "./ChunkStage.ts"
import { VendorAnswerMalformed } from "./VendorErrors.ts"

/** The data of one server-sent event, or bytes that completed none: a comment, or a part of an event. */
export type SseToken = { readonly type: "event"; readonly data: string } | { readonly type: "keep-alive" }

/** Server-sent events as their text comes in. */
export const parseSseEvents = <E>(texts: ChunkSource<string, E>): ChunkSource<SseToken, E | VendorAnswerMalformed> => {
  const parser = makeSseParser()
  return applyStage(
    texts,
    makeStage((given): StageOutput<SseToken, VendorAnswerMalformed> => {
      const values: Array<SseToken> = []
      for (const text of given) {
        const events = parser.push(text)
        if (parser.hasOverflowed())
          return { values, failure: new VendorAnswerMalformed({ reason: "an event without an end" }) }
        if (events.length === 0) values.push({ type: "keep-alive" })
        for (const { data } of events) values.push({ type: "event", data })
      }
      return { values }
    })
  )
}
