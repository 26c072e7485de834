import { BodyMalformed, BodyTooLarge, RequestTimeout } from "@berth/api/http/TransportErrors"
import { Duration, Effect } from "effect"
import type { IncomingMessage } from "node:http"

/** Minimum average rate of a body in bytes per second, after the grace period. */
export interface MinimumRate {
  readonly bytesPerSecond: number
  readonly grace: Duration.Duration
}

/** Time limit of a body without a minimum rate. */
const arrivalLimit = Duration.seconds(60)
const checkInterval = Duration.seconds(1)

type BodyRead = Effect.Effect<Buffer, BodyTooLarge | BodyMalformed | RequestTimeout>

/** Returns a body that has arrived as declared, without the listeners and the timer of one that is still arriving. */
const takeArrived = (source: IncomingMessage): Buffer | undefined => {
  const { destroyed, headers, readableLength } = source
  if (destroyed || readableLength === 0 || readableLength !== Number(headers["content-length"])) return undefined
  const body: unknown = source.read()
  // Emits the end of the request.
  source.resume()
  return Buffer.isBuffer(body) ? body : undefined
}

const receiveBody = (source: IncomingMessage, limit: number, minimumRate: MinimumRate | undefined): BodyRead =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    let seconds = 0
    const finish = (outcome: BodyRead) => {
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

/** Reads a body of up to `limit` bytes; `minimumRate` replaces the time limit of small bodies. */
export const readBody = (source: IncomingMessage, limit: number, minimumRate: MinimumRate | undefined): BodyRead =>
  Effect.suspend(() => {
    const arrived = takeArrived(source)
    if (arrived === undefined) return receiveBody(source, limit, minimumRate)
    return arrived.length > limit ? new BodyTooLarge({ limit }) : Effect.succeed(arrived)
  })
