import { Option } from "effect"
import { type AudioContainer, detectAudioKind } from "./AudioContainer.ts"

/* Reads durations from containers, without decoding. Truncated or malformed bytes read as zeros. */

/** Containers have integers of at most 8 bytes. Another length, which a malformed file can state, reads as zero. */
const readUnsigned = (bytes: Uint8Array, at: number, length: number, isLittleEndian = false): number => {
  if (length > 8) return 0
  let value = 0
  for (let i = 0; i < length; i += 1) value = value * 256 + (bytes[isLittleEndian ? at + length - 1 - i : at + i] ?? 0)
  return value
}

const textAt = (bytes: Uint8Array, at: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(at, at + length))

const positive = (seconds: number): number | null => (Number.isFinite(seconds) && seconds >= 0 ? seconds : null)

/** RIFF: the present data bytes divided by the byte rate of the format. */
const measureWav = (bytes: Uint8Array): number | null => {
  let byteRate = 0
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = readUnsigned(bytes, at + 4, 4, true)
    const name = textAt(bytes, at, 4)
    if (name === "fmt ") byteRate = readUnsigned(bytes, at + 16, 4, true)
    // Streaming recorders write a size of zero or 2^32 - 1.
    if (name === "data") {
      const available = bytes.length - at - 8
      return byteRate === 0 ? null : (size === 0 ? available : Math.min(size, available)) / byteRate
    }
    at += 8 + size + (size % 2)
  }
  return null
}

const mpegBitRates = {
  first: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  second: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
}
const mpegSampleRates = [44_100, 48_000, 32_000]

/** MPEG layer III: the sum of all frames, whose bit rate may vary. */
const measureMp3 = (bytes: Uint8Array): number => {
  const tag = (at: number) => bytes[at] ?? 0
  let at = textAt(bytes, 0, 3) === "ID3" ? 10 + ((tag(6) << 21) | (tag(7) << 14) | (tag(8) << 7) | tag(9)) : 0
  let seconds = 0
  while (at + 4 <= bytes.length) {
    const [sync, kind, rates] = [tag(at), tag(at + 1), tag(at + 2)]
    const version = (kind >> 3) & 3
    const bitRate = (version === 3 ? mpegBitRates.first : mpegBitRates.second)[rates >> 4] ?? 0
    const baseRate = mpegSampleRates[(rates >> 2) & 3] ?? 0
    const isFrame = sync === 0xff && (kind & 0xe6) === 0xe2 && version !== 1 && bitRate > 0 && baseRate > 0
    if (!isFrame) {
      at += 1
      continue
    }
    const sampleRate = version === 3 ? baseRate : version === 2 ? baseRate / 2 : baseRate / 4
    const samples = version === 3 ? 1152 : 576
    seconds += samples / sampleRate
    at += Math.floor(((samples / 8) * bitRate * 1000) / sampleRate) + ((rates >> 1) & 1)
  }
  return seconds
}

/** Ogg (RFC 3533): the largest granule position, in samples of Opus or Vorbis. */
const measureOgg = (bytes: Uint8Array): number | null => {
  const first = 27 + (bytes[26] ?? 0)
  const isOpus = textAt(bytes, first, 8) === "OpusHead"
  const isVorbis = textAt(bytes, first, 7) === "\u0001vorbis"
  const sampleRate = isOpus ? 48_000 : isVorbis ? readUnsigned(bytes, first + 12, 4, true) : 0
  if (sampleRate === 0) return null
  let granule = 0
  for (let at = 0; at + 27 <= bytes.length && textAt(bytes, at, 4) === "OggS";) {
    const position = readUnsigned(bytes, at + 6, 8, true)
    // All ones: no packet ends on this page.
    if (position < 2 ** 63) granule = Math.max(granule, position)
    const segments = bytes[at + 26] ?? 0
    let size = 27 + segments
    for (let i = 0; i < segments; i += 1) size += bytes[at + 27 + i] ?? 0
    at += size
  }
  return granule / sampleRate
}

/** FLAC: the first block, STREAMINFO. A total of zero samples means unknown. */
const measureFlac = (bytes: Uint8Array): number | null => {
  const sampleRate = readUnsigned(bytes, 18, 3) >> 4
  const samples = ((bytes[21] ?? 0) & 0x0f) * 2 ** 32 + readUnsigned(bytes, 22, 4)
  return sampleRate === 0 || samples === 0 ? null : samples / sampleRate
}

const containerBoxes = new Set(["moov", "mvex"])

/** ISO base media: the movie header; for a fragmented movie, the movie extends header. */
const measureMp4 = (bytes: Uint8Array): number | null => {
  let timescale = 0
  let duration = 0
  for (let at = 0; at + 8 <= bytes.length;) {
    const short = readUnsigned(bytes, at, 4)
    const header = short === 1 ? 16 : 8
    const size = short === 1 ? readUnsigned(bytes, at + 8, 8) : short === 0 ? bytes.length - at : short
    const name = textAt(bytes, at + 4, 4)
    const body = at + header
    const isLong = bytes[body] === 1
    if (name === "mvhd") {
      timescale = readUnsigned(bytes, body + (isLong ? 20 : 12), 4)
      duration = readUnsigned(bytes, body + (isLong ? 24 : 16), isLong ? 8 : 4)
    }
    if (name === "mehd" && duration === 0) duration = readUnsigned(bytes, body + 4, isLong ? 8 : 4)
    if (size < header) return null
    at += containerBoxes.has(name) ? header : size
  }
  return timescale === 0 || duration === 0 || duration >= 2 ** 32 - 1 ? null : duration / timescale
}

const webm = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3
}
const webmMasters = new Set([webm.segment, webm.info, webm.cluster, webm.blockGroup])

const readFloat = (bytes: Uint8Array, at: number, length: number): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (at + length > bytes.length) return 0
  return length === 4 ? view.getFloat32(at) : length === 8 ? view.getFloat64(at) : 0
}

/** WebM: the later of the segment's duration, which streaming recorders omit, and the last block. */
const measureWebm = (bytes: Uint8Array): number | null => {
  let nanoseconds = 1_000_000
  let duration = 0
  let cluster = 0
  let last = 0
  for (let at = 0; at < bytes.length;) {
    const idLength = Math.clz32(bytes[at] ?? 0) - 23
    const sizeLength = Math.clz32(bytes[at + idLength] ?? 0) - 23
    if (idLength > 4 || sizeLength > 8) return null
    const id = readUnsigned(bytes, at, idLength)
    const body = at + idLength + sizeLength
    const marked = readUnsigned(bytes, at + idLength, sizeLength)
    const size = marked - 2 ** (7 * sizeLength)
    if (id === webm.timestampScale) nanoseconds = readUnsigned(bytes, body, size)
    if (id === webm.duration) duration = readFloat(bytes, body, size)
    if (id === webm.timestamp) cluster = readUnsigned(bytes, body, size)
    if (id === webm.block || id === webm.simpleBlock) {
      const trackLength = Math.clz32(bytes[body] ?? 0) - 23
      last = Math.max(last, cluster + readUnsigned(bytes, body + trackLength, 2))
    }
    // Masters are entered, since masters of unknown size cannot be skipped.
    at = webmMasters.has(id) ? body : body + size
  }
  const ticks = Math.max(duration, last)
  return ticks === 0 || nanoseconds === 0 ? null : (ticks * nanoseconds) / 1e9
}

const measures: Readonly<Record<AudioContainer, (bytes: Uint8Array) => number | null>> = {
  wav: measureWav,
  mp3: measureMp3,
  ogg: measureOgg,
  flac: measureFlac,
  m4a: measureMp4,
  mp4: measureMp4,
  webm: measureWebm
}

/** Returns the duration of a recording in seconds; none if its container does not state it. */
export const readAudioDuration = (bytes: Uint8Array): Option.Option<number> =>
  Option.flatMap(detectAudioKind(bytes), ({ container }) => {
    const seconds = measures[container](bytes)
    return Option.fromNullable(seconds === null ? null : positive(seconds))
  })
