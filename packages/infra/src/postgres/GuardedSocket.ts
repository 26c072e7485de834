import { Socket } from "node:net"

/** The other side has not said a word since it was asked. */
class PeerIsSilent extends Error {
  readonly code = "ETIMEDOUT"
}

/**
 * A socket that breaks when nothing comes back for `patience` milliseconds after something was sent. A server that is gone without
 * a goodbye, or behind a network that swallows everything, would otherwise keep whoever asked it for hours; being idle is no fault.
 */
export class GuardedSocket extends Socket {
  readonly #patience: number
  #timer: NodeJS.Timeout | undefined

  constructor(patience: number) {
    super()
    this.#patience = patience
    this.on("data", () => this.#calm())
    this.on("close", () => this.#calm())
  }

  #calm() {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #expectAnswer() {
    this.#timer ??= setTimeout(
      () => this.destroy(new PeerIsSilent(`no answer within ${this.#patience} ms`)),
      this.#patience
    ).unref()
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
