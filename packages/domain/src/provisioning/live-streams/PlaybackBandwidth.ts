import { Option } from "effect"
import { mayTakeMore } from "./FairShare.ts"
import { liveLimits, type LiveStreamId } from "./LiveStream.ts"

/** Bytes that may be sent at a time in epoch milliseconds; negative after a large file. */
interface ByteAllowance {
  readonly bytes: number
  readonly at: number
}

/** Refills at `bytesPerSecond`, up to the bytes of one second. */
export const refillAllowance = ({ at, bytes }: ByteAllowance, bytesPerSecond: number, now: number): ByteAllowance => ({
  bytes: Math.min(bytesPerSecond, bytes + (Math.max(0, now - at) / 1000) * bytesPerSecond),
  at: Math.max(at, now)
})

/** Bandwidth of a process: in total, and of each stream in use. */
interface PlaybackBandwidth {
  readonly total: ByteAllowance
  readonly streams: ReadonlyMap<LiveStreamId, ByteAllowance>
}

const { playbackBytesPerSecond: streamRate, playbackBytesPerSecondInTotal: totalRate } = liveLimits
const maximumStreams = 1000

export const unusedBandwidth: PlaybackBandwidth = { total: { bytes: totalRate, at: 0 }, streams: new Map() }

/** Drops refilled allowances, so that names of unknown streams displace none in use. */
const keepUsed = (streams: PlaybackBandwidth["streams"], now: number) =>
  new Map([...streams].filter(([, allowance]) => refillAllowance(allowance, streamRate, now).bytes < streamRate))

/** Takes bytes for a stream; none if its bandwidth, or its share of the total, is exhausted. */
export const takeBandwidth = (
  { streams, total }: PlaybackBandwidth,
  id: LiveStreamId,
  bytes: number,
  now: number
): Option.Option<PlaybackBandwidth> => {
  const known = streams.size < maximumStreams ? streams : keepUsed(streams, now)
  const own = refillAllowance(known.get(id) ?? { bytes: streamRate, at: now }, streamRate, now)
  const all = refillAllowance(total, totalRate, now)
  const mayTake =
    own.bytes > 0 &&
    mayTakeMore({
      capacity: totalRate,
      held: streamRate - own.bytes,
      holders: all.bytes > 0 ? 1 : keepUsed(known, now).size,
      total: totalRate - all.bytes
    })
  return mayTake
    ? Option.some({
        total: { ...all, bytes: all.bytes - bytes },
        streams: new Map([...known, [id, { ...own, bytes: own.bytes - bytes }]])
      })
    : Option.none()
}
