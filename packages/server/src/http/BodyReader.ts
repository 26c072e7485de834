import { BodyMalformed, BodyTooLarge, RequestTimeout } from "@berth/api/http/TransportErrors"
import { Duration, Effect } from "effect"
import type { Readable } from "node:stream"

/** Minimum average rate of a body in bytes per second, after the grace period. */
export interface MinimumRate {
  readonly bytesPerSecond: number
  readonly grace: Duration.Duration
}

/** Time limit of a body without a minimum rate. */
const arrivalLimit = Duration.seconds(60)
const checkInterval = Duration.seconds(1)

/** Reads a body of up to `limit` bytes; `minimumRate` replaces the time limit of small bodies. */
export const readBody = (
  source: Readable,
  limit: number,
  minimumRate: MinimumRate | undefined
): Effect.Effect<Buffer, BodyTooLarge | BodyMalformed | RequestTimeout> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    let seconds = 0
    const finish = (outcome: Effect.Effect<Buffer, BodyTooLarge | BodyMalformed | RequestTimeout>) => {
      stop()
      // Further bytes are discarded.
      source.resume()
      resume(outcome)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) finish(new BodyTooLarge({ limit }))
      else chunks.push(chunk)
    }
    const onEnd = () =>
      finish(Effect.succeed(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
    const onCut = () => finish(new BodyMalformed({ reason: "was cut off" }))
    const onCheck = () => {
      seconds += Duration.toSeconds(checkInterval)
      const isLate =
        minimumRate === undefined
          ? seconds >= Duration.toSeconds(arrivalLimit)
          : seconds >= Duration.toSeconds(minimumRate.grace) && size < seconds * minimumRate.bytesPerSecond
      if (isLate) finish(new RequestTimeout())
    }
    const timer = setInterval(onCheck, Duration.toMillis(checkInterval)).unref()
    const stop = () => {
      clearInterval(timer)
      source.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut)
    }
    // A disconnected client emits no further events.
    if (source.destroyed) return onCut()
    // No canceler, which would take seven operations: an interrupted request closes its source.
    source.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut)
  })
