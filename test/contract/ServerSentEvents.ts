import type { HttpCallResponse } from "../support/HttpCall.ts"

export interface ParsedServerSentEvent {
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: unknown
}

export const parseEvents = ({ text }: Pick<HttpCallResponse, "text">): ReadonlyArray<ParsedServerSentEvent> =>
  text
    .split("\n\n")
    .filter((frame) => frame.startsWith("event:"))
    .map((frame) => {
      const fields = new Map(
        frame.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)])
      )
      const data: unknown = JSON.parse(fields.get("data") ?? "null")
      return { event: fields.get("event"), id: fields.get("id"), data }
    })
