import { Effect } from "effect"
import { connect } from "node:net"

/** Sends bytes and reads until the peer closes or is idle for `idleTimeoutMs`. */
export const sendBytes = (
  port: number,
  pieces: ReadonlyArray<string | Uint8Array>,
  idleTimeoutMs = 5000
): Effect.Effect<string> =>
  Effect.async<string>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const read: Array<Buffer> = []
    const done = () => {
      socket.destroy()
      resume(Effect.succeed(Buffer.concat(read).toString("latin1")))
    }
    socket.setTimeout(idleTimeoutMs, done)
    socket.on("data", (chunk: Buffer) => read.push(chunk))
    socket.on("error", done)
    socket.on("close", done)
    socket.on("connect", () => {
      for (const piece of pieces) socket.write(piece)
    })
    return Effect.sync(() => socket.destroy())
  })

/** Sends all bytes before it reads, as clients without an event loop do; reads until the other side closes. */
export const sendBytesThenRead = (
  port: number,
  pieces: ReadonlyArray<string | Uint8Array>,
  timeoutMs = 10_000
): Effect.Effect<string> =>
  Effect.async<string>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const read: Array<Buffer> = []
    const done = () => {
      socket.destroy()
      resume(Effect.succeed(Buffer.concat(read).toString("latin1")))
    }
    socket.setTimeout(timeoutMs, done)
    socket.on("error", done)
    socket.on("close", done)
    const sendFrom = (index: number): void => {
      const piece = pieces[index]
      if (piece === undefined) socket.on("data", (chunk: Buffer) => read.push(chunk))
      else socket.write(piece, () => sendFrom(index + 1))
    }
    socket.once("connect", () => sendFrom(0))
    return Effect.sync(() => socket.destroy())
  })

/** The first answer in what was read. */
export const parseRawResponse = (text: string) => {
  const [head = "", body = ""] = text.split("\r\n\r\n")
  const [line = "", ...fields] = head.split("\r\n")
  return {
    status: Number(line.split(" ")[1]),
    headers: Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(":")).toLowerCase(),
        field.slice(field.indexOf(":") + 1).trim()
      ])
    ),
    text: body
  }
}
