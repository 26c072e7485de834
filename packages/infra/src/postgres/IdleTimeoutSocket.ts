import { Socket } from "node:net"

/** The other side has not said a word since it was asked. */
class PeerTimedOut extends Error {
  readonly code = "ETIMEDOUT"
}

/** In milliseconds. */
export interface SocketTimeouts {
  /** From the attempt to connect to the first word. */
  readonly connect: number
  /** From then on, after anything was sent. */
  readonly answer: number
}

/**
 * A socket that breaks when nothing comes back for a while after something was sent. A server that is gone without a goodbye, or
 * behind a network that swallows everything, would otherwise keep whoever asked it for hours; being idle is no fault.
 */
export class IdleTimeoutSocket extends Socket {
  readonly #patience: SocketTimeouts
  #heard = false
  #timer: NodeJS.Timeout | undefined

  constructor(patience: SocketTimeouts) {
    super()
    this.#patience = patience
    this.on("data", () => {
      this.#heard = true
      this.#calm()
    })
    this.on("close", () => this.#calm())
    // Made to connect at once: what never connects is silent, too.
    this.#expectAnswer()
  }

  #calm() {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #expectAnswer() {
    const limit = this.#heard ? this.#patience.answer : this.#patience.connect
    this.#timer ??= setTimeout(() => this.destroy(new PeerTimedOut(`no answer within ${limit} ms`)), limit).unref()
  }

  override _write(chunk: unknown, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#expectAnswer()
    super._write(chunk, encoding, callback)
  }

  override _writev(
    chunks: Array<{ chunk: unknown; encoding: BufferEncoding }>,
    callback: (error?: Error | null) => void
  ): void {
    this.#expectAnswer()
    super._writev?.(chunks, callback)
  }
}
