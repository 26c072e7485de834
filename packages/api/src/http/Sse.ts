/*
 * Server-sent events (HTML standard, section 9.2): the one encoder and the one parser of the service and its pages.
 * Free of Effect: an answer has hundreds of deltas, and browser pages import this module.
 */

export interface SseFields {
  /** Without line ends, like `id`. */
  readonly event?: string | undefined
  readonly id?: string | undefined
  /** Milliseconds until a client reconnects. */
  readonly retry?: number | undefined
  readonly data: string
}

const lineEnd = /\r\n|\n|\r/

/** An event as it goes over the wire. */
export const encodeSseEvent = ({ data, event, id, retry }: SseFields): string => {
  const head =
    (event === undefined ? "" : `event: ${event}\n`) +
    (id === undefined ? "" : `id: ${id}\n`) +
    (retry === undefined ? "" : `retry: ${retry}\n`)
  // JSON has no line ends; only other data is split.
  const lines = lineEnd.test(data) ? data.split(lineEnd).join("\ndata: ") : data
  return `${head}data: ${lines}\n\n`
}

/** The event of a datum whose `type` names it. */
export const encodeTypedSseEvent = (event: { readonly type: string }): string =>
  encodeSseEvent({ event: event.type, data: JSON.stringify(event) })

/** A comment, which parsers skip; it shows that a silent stream is alive. */
export const sseKeepAlive = ": alive\n\n"

/** Seconds between keep-alives; a reader may take a silence of three times that for a dead peer. */
export const sseKeepAliveSeconds = 15

export interface SseEvent {
  /** `message` for an event without a name. */
  readonly event: string
  /** The last id of the stream so far, where it has one. */
  readonly id: string | undefined
  readonly data: string
}

export interface SseParser {
  /** The events that a further piece of text completes. */
  readonly push: (text: string) => ReadonlyArray<SseEvent>
  /** Whether an event exceeded the limit; the parser then reads nothing more. */
  readonly hasOverflowed: () => boolean
  /** The last `retry` of the stream, in milliseconds. */
  readonly retry: () => number | undefined
}

const maximumEventLength = 4 * 1024 * 1024

/** Reads one stream, wherever its text is cut. What is left over at its end is no event. `limit` in characters. */
export const makeSseParser = (limit = maximumEventLength): SseParser => {
  let line = ""
  let data: Array<string> = []
  let dataLength = 0
  let event = ""
  let id: string | undefined
  let retry: number | undefined
  let isFirst = true
  // A line feed next would belong to the carriage return before.
  let endsInReturn = false
  let hasOverflowed = false

  const readField = (name: string, value: string) => {
    switch (name) {
      case "data":
        data.push(value)
        dataLength += value.length + 1
        return
      case "event":
        event = value
        return
      case "id":
        if (!value.includes("\0")) id = value
        return
      case "retry":
        if (/^[0-9]+$/.test(value)) retry = Number(value)
    }
  }

  const readLine = (whole: string) => {
    const colon = whole.indexOf(":")
    if (colon === 0) return
    if (colon === -1) readField(whole, "")
    else readField(whole.slice(0, colon), whole.slice(whole.startsWith(" ", colon + 1) ? colon + 2 : colon + 1))
  }

  const push = (text: string): ReadonlyArray<SseEvent> => {
    if (text === "" || hasOverflowed) return []
    let start = endsInReturn && text.startsWith("\n") ? 1 : 0
    if (isFirst && text.startsWith("\uFEFF")) start = 1
    isFirst = false
    endsInReturn = text.endsWith("\r")
    const fresh = start === 0 ? text : text.slice(start)
    const lines = fresh.includes("\r") ? fresh.split(lineEnd) : fresh.split("\n")
    const last = lines.length - 1
    lines[0] = line + (lines[0] ?? "")
    line = lines[last] ?? ""
    const events: Array<SseEvent> = []
    for (let at = 0; at < last; at += 1) {
      const whole = lines[at] ?? ""
      if (whole !== "") {
        readLine(whole)
        continue
      }
      if (data.length > 0) events.push({ event: event === "" ? "message" : event, id, data: data.join("\n") })
      data = []
      dataLength = 0
      event = ""
    }
    if (line.length + dataLength > limit) {
      hasOverflowed = true
      line = ""
      data = []
    }
    return events
  }

  return { push, hasOverflowed: () => hasOverflowed, retry: () => retry }
}
