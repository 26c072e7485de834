import { Socket } from "node:net"

/** The peer sent no data in time. */
class PeerTimedOut extends Error {
  readonly code = "ETIMEDOUT"
}

/** In milliseconds. */
interface SocketTimeouts {
  /** Maximum time from the connection attempt to the first byte. */
  readonly connect: number
  /** Maximum time to a response after each later write. */
  readonly answer: number
}

/**
 * A socket that fails if no data follows a write, for example when the peer has disappeared. An idle socket does not
 * fail.
 */
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
    // The connection attempt starts immediately and counts as a write.
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
