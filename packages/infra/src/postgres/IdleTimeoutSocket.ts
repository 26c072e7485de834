import { Socket } from "node:net"

/** The peer sent nothing in time. */
class PeerTimedOut extends Error {
  readonly code = "ETIMEDOUT"
}

/** In milliseconds. */
export interface SocketTimeouts {
  /** From the attempt to connect to the first byte. */
  readonly connect: number
  /** Later, after each write. */
  readonly answer: number
}

/** A socket that fails when a write is followed by silence, as with a peer that vanished. Being idle is no failure. */
export class IdleTimeoutSocket extends Socket {
  readonly #timeouts: SocketTimeouts
  #hasReceived = false
  #timer: NodeJS.Timeout | undefined

  constructor(timeouts: SocketTimeouts) {
    super()
    this.#timeouts = timeouts
    this.on("data", () => {
      this.#hasReceived = true
      this.#stopTimer()
    })
    this.on("close", () => this.#stopTimer())
    // It connects immediately; the connection attempt counts as silence.
    this.#startTimer()
  }

  #stopTimer() {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #startTimer() {
    const limit = this.#hasReceived ? this.#timeouts.answer : this.#timeouts.connect
    this.#timer ??= setTimeout(() => this.destroy(new PeerTimedOut(`no data within ${limit} ms`)), limit).unref()
  }

  override _write(chunk: unknown, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#startTimer()
    super._write(chunk, encoding, callback)
  }

  override _writev(
    chunks: Array<{ chunk: unknown; encoding: BufferEncoding }>,
    callback: (error?: Error | null) => void
  ): void {
    this.#startTimer()
    super._writev?.(chunks, callback)
  }
}
