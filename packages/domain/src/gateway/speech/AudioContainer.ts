import { Option } from "effect"

/** Audio containers that providers transcribe. */
export type AudioContainer = "wav" | "mp3" | "ogg" | "flac" | "m4a" | "mp4" | "webm"

export interface AudioKind {
  /** File extension, which providers prefer to the media type. */
  readonly container: AudioContainer
  readonly contentType: string
}

const kinds: Readonly<Record<AudioContainer, AudioKind>> = {
  wav: { container: "wav", contentType: "audio/wav" },
  mp3: { container: "mp3", contentType: "audio/mpeg" },
  ogg: { container: "ogg", contentType: "audio/ogg" },
  flac: { container: "flac", contentType: "audio/flac" },
  m4a: { container: "m4a", contentType: "audio/mp4" },
  mp4: { container: "mp4", contentType: "audio/mp4" },
  webm: { container: "webm", contentType: "audio/webm" }
}

/** Human-readable list of all containers. */
export const audioContainers = Object.keys(kinds).join(", ")

const textAt = (bytes: Uint8Array, start: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(start, start + length))

/**
 * Detects the header of an MP3 frame: eleven set bits, a valid version, layer III, a valid bit rate and sample rate.
 */
const isMpegFrame = (bytes: Uint8Array): boolean => {
  const [sync = 0, kind = 0, rates = 0] = bytes
  return (
    sync === 0xff &&
    (kind & 0xe0) === 0xe0 &&
    (kind & 0x18) !== 0x08 &&
    (kind & 0x06) === 0x02 &&
    (rates & 0xf0) !== 0xf0 &&
    (rates & 0x0c) !== 0x0c
  )
}

// Pictures use the same container format.
const pictureBrands = new Set(["avif", "avis", "heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"])
const songBrands = new Set(["M4A ", "M4B ", "M4P "])

const containerOf = (bytes: Uint8Array): AudioContainer | null => {
  const start = textAt(bytes, 0, 4)
  if (start === "RIFF") return textAt(bytes, 8, 4) === "WAVE" ? "wav" : null
  if (start === "OggS") return "ogg"
  if (start === "fLaC") return "flac"
  if (start === "\x1aE\xdf\xa3") return textAt(bytes, 4, 60).includes("webm") ? "webm" : null
  if (textAt(bytes, 4, 4) === "ftyp") {
    const brand = textAt(bytes, 8, 4)
    if (pictureBrands.has(brand)) return null
    return songBrands.has(brand) ? "m4a" : "mp4"
  }
  return start.startsWith("ID3") || isMpegFrame(bytes) ? "mp3" : null
}

/** Detects the container from the first bytes of a file, regardless of its name; none for other files. */
export const detectAudioKind = (bytes: Uint8Array): Option.Option<AudioKind> =>
  Option.map(Option.fromNullable(containerOf(bytes)), (container) => kinds[container])
