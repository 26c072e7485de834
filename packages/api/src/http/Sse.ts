/*
 * Server-sent events (HTML standard, section 9.2): the only encoder and parser of the service and its pages. Does not
 * import Effect: an answer has hundreds of deltas, and browser pages import this module.
 */

interface SseFields {
  /** Without line breaks, like `id`. */
  readonly event?: string | undefined
  readonly id?: string | undefined
  /** Milliseconds after which a client reconnects. */
  readonly retry?: number | undefined
  readonly data: string
}

const lineEnd = /\r\n|\n|\r/

export const encodeSseEvent = ({ data, event, id, retry }: SseFields): string => {
  const head =
    (event === undefined ? "" : `event: ${event}\n`) +
    (id === undefined ? "" : `id: ${id}\n`) +
    (retry === undefined ? "" : `retry: ${retry}\n`)
  // JSON contains no line breaks; only other data is split.
  const lines = lineEnd.test(data) ? data.split(lineEnd).join("\ndata: ") : data
  return `${head}data: ${lines}\n\n`
}

/** Encodes a value as an event named by its `type`. */
export const encodeTypedSseEvent = (event: { readonly type: string }): string =>
  encodeSseEvent({ event: event.type, data: JSON.stringify(event) })

/** A comment, ignored by parsers; proves that a silent stream is alive. */
export const sseKeepAlive = ": alive\n\n"

/** Seconds between keep-alives; readers may treat a silence of three times that as a lost connection. */
export const sseKeepAliveSeconds = 15

export interface SseEvent {
  /** `message` for an unnamed event. */
  readonly event: string
  /** The stream's last id, if any. */
  readonly id: string | undefined
  readonly data: string
}

interface SseParser {
  /** Returns the events completed by the next text. */
  readonly push: (text: string) => ReadonlyArray<SseEvent>
  /** Whether an event exceeded the limit, after which the parser ignores all input. */
  readonly hasOverflowed: () => boolean
  /** Returns the stream's last `retry` in milliseconds. */
  readonly retry: () => number | undefined
}

const maximumEventLength = 4 * 1024 * 1024

/** Parses one stream, split at any position. Drops an incomplete event at the end. `limit` in characters. */
export const makeSseParser = (limit = maximumEventLength): SseParser => {
  let line = ""
  let data: Array<string> = []
  let dataLength = 0
  let event = ""
  let id: string | undefined
  let retry: number | undefined
  let isFirst = true
  // A following line feed would belong to the previous carriage return.
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
