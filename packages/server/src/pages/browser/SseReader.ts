/** A server-sent event; its data as text. */
export interface ReceivedSseEvent {
  readonly event: string
  readonly id: string | undefined
  readonly data: string
}

const fieldOf = (line: string) => {
  const colon = line.indexOf(":")
  if (colon === -1) return { name: line, value: "" }
  const value = line.slice(colon + 1)
  return { name: line.slice(0, colon), value: value.startsWith(" ") ? value.slice(1) : value }
}

const eventOf = (lines: ReadonlyArray<string>): ReceivedSseEvent | undefined => {
  const fields = lines.filter((line) => !line.startsWith(":")).map(fieldOf)
  const data = fields.filter(({ name }) => name === "data").map(({ value }) => value)
  if (data.length === 0) return undefined
  const last = (wanted: string) => fields.findLast(({ name }) => name === wanted)?.value
  return { event: last("event") ?? "message", id: last("id"), data: data.join("\n") }
}

/** Takes a stream of server-sent events apart, whatever the pieces in which it comes (HTML standard, 9.2.6). */
export const makeSseReader = (): ((piece: string) => ReadonlyArray<ReceivedSseEvent>) => {
  let rest = ""
  let lines: Array<string> = []
  return (piece) => {
    const events: Array<ReceivedSseEvent> = []
    // A carriage return at the end may be half of a line's end.
    const text = rest + piece
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text
    const parts = whole.split(/\r\n|\n|\r/)
    rest = (parts.pop() ?? "") + text.slice(whole.length)
    for (const line of parts) {
      if (line !== "") {
        lines.push(line)
        continue
      }
      const event = eventOf(lines)
      if (event !== undefined) events.push(event)
      lines = []
    }
    return events
  }
}
