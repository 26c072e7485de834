import { Duration } from "effect"
import { RateLimiterRes } from "rate-limiter-flexible"

/** Window of a key as last reported by the store. */
interface KnownWindow {
  /** Infinite before the first report. */
  consumed: number
  /** Epoch milliseconds. */
  endsAt: number
  /** Admitted takes not yet sent to the store. */
  pending: number
  /** Sent takes not yet reported by the store. */
  sent: number
  /** Takes with a failed write, which the store may not have counted. */
  lost: number
  /** Resolves after the store has reported all deferred takes that were sent. */
  written: Promise<unknown>
  /** The take that reads the window from the store; concurrent takes wait for it. */
  opening: Promise<void> | undefined
  /** Whether the last write failed. */
  isAlone: boolean
}

const maximumKeys = 10_000

interface DeferredCountsOptions {
  readonly count: number
  readonly now: () => number
  /** Runs the write of the admitted takes shortly afterwards. */
  readonly defer: (write: () => void) => void
  /** Counts several takes of a key in the store; rejects with the window if it is exhausted. */
  readonly consume: (key: string, takes: number) => Promise<RateLimiterRes>
  readonly onStoreFailure: (cause: unknown) => void
  /** Length of a window that the process counts alone while the store is unavailable; absent: such takes fail. */
  readonly windowAlone?: Duration.Duration | undefined
}

/**
 * Hot path: admits a take without the store while the last reported window has room, and counts it shortly afterwards.
 * Exact within a process, even while the store is unavailable; other processes see a take after the delay of its write.
 */
export class DeferredCounts {
  readonly #options: DeferredCountsOptions
  readonly #windows = new Map<string, KnownWindow>()

  constructor(options: DeferredCountsOptions) {
    this.#options = options
  }

  /** False if the store must decide; then the caller takes from the store. */
  admit(key: string): boolean {
    const window = this.#windows.get(key)
    if (window === undefined || window.endsAt <= this.#options.now()) return false
    if (window.consumed + window.pending + window.sent >= this.#options.count) return false
    window.pending += 1
    if (window.pending === 1) this.#options.defer(() => this.#writePending(key, window))
    return true
  }

  /** Counts a take in the store, after the previously admitted takes. */
  async take(key: string): Promise<void> {
    const window = this.#windowOf(key)
    if (window.opening !== undefined) {
      await this.#waitForOpening(window.opening, window)
      return this.admit(key) ? undefined : this.take(key)
    }
    const { now } = this.#options
    if (window.endsAt <= now()) {
      const takes = window.pending + 1
      window.pending = 0
      window.opening = this.#send(key, window, takes).finally(() => {
        window.opening = undefined
      })
      return window.opening
    }
    if (window.isAlone) throw this.#exhaustionOf(window)
    // A take that the store counts before admitted ones could be admitted in their place.
    this.#writePending(key, window)
    await window.written
    return window.pending > 0 || window.isAlone ? this.take(key) : this.#send(key, window, 1)
  }

  /** Leaves decisions on the key to the store until its next report. */
  forget(key: string): void {
    this.#windows.delete(key)
  }

  /** A failed opening fails all its waiters, unless the process now counts alone. */
  async #waitForOpening(opening: Promise<void>, window: KnownWindow): Promise<void> {
    try {
      await opening
    } catch (failure) {
      if (window.endsAt <= this.#options.now()) throw failure
    }
  }

  #windowOf(key: string): KnownWindow {
    const known = this.#windows.get(key)
    if (known !== undefined) return known
    const [oldest] = this.#windows.keys()
    if (oldest !== undefined && this.#windows.size >= maximumKeys) this.#windows.delete(oldest)
    const window: KnownWindow = {
      consumed: Number.POSITIVE_INFINITY,
      endsAt: 0,
      pending: 0,
      sent: 0,
      lost: 0,
      written: Promise.resolve(),
      opening: undefined,
      isAlone: false
    }
    this.#windows.set(key, window)
    return window
  }

  #keep(
    window: KnownWindow,
    { consumedPoints, msBeforeNext }: Pick<RateLimiterRes, "consumedPoints" | "msBeforeNext">
  ): void {
    const now = this.#options.now()
    window.isAlone = false
    if (window.endsAt <= now) {
      window.consumed = 0
      window.lost = 0
    }
    window.consumed = Math.max(window.consumed, consumedPoints + window.lost)
    window.endsAt = now + msBeforeNext
  }

  async #send(key: string, window: KnownWindow, takes: number): Promise<void> {
    window.sent += takes
    try {
      this.#keep(window, await this.#options.consume(key, takes))
    } catch (rejected) {
      // The library has no count for a key that it rejects from memory.
      if (rejected instanceof RateLimiterRes)
        this.#keep(window, { consumedPoints: Number.POSITIVE_INFINITY, msBeforeNext: rejected.msBeforeNext })
      else if (!this.#countAlone(window, takes)) {
        this.#options.onStoreFailure(rejected)
        throw this.#exhaustionOf(window)
      }
      throw rejected
    } finally {
      window.sent -= takes
    }
  }

  /**
   * The window includes takes that an unavailable store may have lost. False if the process counts alone and the window
   * is exhausted.
   */
  #countAlone(window: KnownWindow, takes: number): boolean {
    const { count, now, windowAlone } = this.#options
    if (windowAlone !== undefined && window.endsAt <= now()) {
      window.consumed = 0
      window.lost = 0
      window.endsAt = now() + Duration.toMillis(windowAlone)
    }
    window.isAlone = windowAlone !== undefined
    window.consumed += takes
    window.lost += takes
    return !window.isAlone || window.consumed <= count
  }

  /** The library's rejection. */
  #exhaustionOf(window: KnownWindow): unknown {
    return new RateLimiterRes(0, window.endsAt - this.#options.now(), window.consumed)
  }

  #writePending(key: string, window: KnownWindow): void {
    const takes = window.pending
    if (takes === 0) return
    window.pending = 0
    const sending = this.#send(key, window, takes).catch((rejected: unknown) => {
      if (!(rejected instanceof RateLimiterRes)) this.#options.onStoreFailure(rejected)
    })
    const before = window.written
    window.written = sending.then(() => before)
  }
}
