import { encodeSseEvent, makeSseParser } from "@berth/api/http/Sse"
import type { McpCallFailed } from "@berth/domain/skills/mcp/McpClient"
import { Duration, Effect, type Scope, Stream } from "effect"

type AnswerBytes = Stream.Stream<Uint8Array, McpCallFailed>

export interface McpAnswerOptions {
  readonly isResponse: (data: string) => boolean
  readonly brokeOff: McpCallFailed
  /** Opens the rest of the answer after an event. The delay precedes every attempt. */
  readonly resume: (
    lastEventId: string,
    delay: Duration.Duration
  ) => Effect.Effect<AnswerBytes, McpCallFailed, Scope.Scope>
}

/** Delay of a server that sends no `retry`. */
const defaultDelayMs = 1000

/**
 * Returns the complete events of an answer until its response. An answer that ends before is resumed after its last id
 * (MCP 2025-11-25, Streamable HTTP, "Resumability and Redelivery"); fails if there is none.
 */
export const readMcpAnswer = (first: AnswerBytes, { brokeOff, isResponse, resume }: McpAnswerOptions): AnswerBytes => {
  let lastEventId: string | undefined
  let delayMs = defaultDelayMs
  let isAnswered = false

  const readEvents = (bytes: AnswerBytes): AnswerBytes => {
    const parser = makeSseParser()
    const push = (text: string) => {
      const events = parser.push(text)
      delayMs = parser.retry() ?? delayMs
      return events.map(({ data, event, id }) => {
        // The id persists when a resumed stream has none (HTML, section 9.2).
        lastEventId = id ?? lastEventId
        isAnswered ||= isResponse(data)
        return encodeSseEvent({ event, data })
      })
    }
    return bytes.pipe(
      Stream.decodeText(),
      Stream.mapConcat(push),
      Stream.encodeText,
      Stream.catchAll((error) => (error.reason === brokeOff.reason ? Stream.empty : Stream.fail(error))),
      Stream.concat(Stream.suspend(readRest))
    )
  }

  const readRest = (): AnswerBytes => {
    if (isAnswered) return Stream.empty
    if (lastEventId === undefined || lastEventId === "") return Stream.fail(brokeOff)
    return Stream.unwrapScoped(Effect.map(resume(lastEventId, Duration.millis(delayMs)), readEvents))
  }

  return readEvents(first)
}
