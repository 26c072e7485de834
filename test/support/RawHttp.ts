import { Effect } from "effect"
import { connect, type Socket } from "node:net"

type Piece = string | Uint8Array

/** Calls `send` and collects the bytes read until the peer closes or is idle for `idleTimeoutMs`. */
const exchange = (
  port: number,
  idleTimeoutMs: number,
  send: (socket: Socket, read: (chunk: Buffer) => void) => void
): Effect.Effect<string> =>
  Effect.async<string>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const read: Array<Buffer> = []
    const done = () => {
      socket.destroy()
      resume(Effect.succeed(Buffer.concat(read).toString("latin1")))
    }
    socket.setTimeout(idleTimeoutMs, done)
    socket.on("error", done)
    socket.on("close", done)
    socket.once("connect", () => send(socket, (chunk) => read.push(chunk)))
    return Effect.sync(() => socket.destroy())
  })

/** Sends bytes and reads until the peer closes or is idle for `idleTimeoutMs`. */
export const sendBytes = (port: number, pieces: ReadonlyArray<Piece>, idleTimeoutMs = 5000) =>
  exchange(port, idleTimeoutMs, (socket, read) => {
    socket.on("data", read)
    for (const piece of pieces) socket.write(piece)
  })

/** Sends all bytes before it reads, as blocking clients do. */
export const sendBytesThenRead = (port: number, pieces: ReadonlyArray<Piece>, idleTimeoutMs = 10_000) =>
  exchange(port, idleTimeoutMs, (socket, read) => {
    const sendFrom = (index: number): void => {
      const piece = pieces[index]
      if (piece === undefined) socket.on("data", read)
      else socket.write(piece, () => sendFrom(index + 1))
    }
    sendFrom(0)
  })

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
