import { Either, Option } from "effect"
import { type LiveFileName, parseLiveFileName } from "./LiveFile.ts"
import { LivePlaylistInvalid } from "./LiveStreamErrors.ts"

/** Parsed playlist of an encoder (RFC 8216 and its second edition), limited to the data that the origin requires. */
interface LivePlaylist {
  /** Equal to the upload, except that addresses of the ingest are replaced with file names. */
  readonly text: string
  readonly files: ReadonlyArray<LiveFileName>
  readonly isEnded: boolean
}

/**
 * RFC 8216, section 4.1, and Unicode line separators, after which players may read the rest of the line as an address.
 */
const forbidden = /[\p{Cc}\p{Zl}\p{Zp}]/u
const uriAttribute = /\bURI="([^"]*)"/g
const ingestAddress = /^https?:\/\/[^/]+\/live\/ingest\/[^/]+\/([^/?#]+)$/

/** Returns the file of an address in a playlist; it must be in the same stream. */
const parseReference = (address: string): Either.Either<LiveFileName, LivePlaylistInvalid> => {
  // An encoder with a base URL writes its stream key into the playlist; players must not see it.
  const name = ingestAddress.exec(address)?.[1] ?? address
  return Either.fromOption(
    parseLiveFileName(name),
    () => new LivePlaylistInvalid({ reason: "it lists an address that is no file name of this stream" })
  )
}

/** Validates one line and rewrites it if necessary; returns the listed file. */
const parseLine = (
  line: string
): Either.Either<{ readonly line: string; readonly file: Option.Option<LiveFileName> }, LivePlaylistInvalid> => {
  if (line === "") return Either.right({ line, file: Option.none() })
  if (forbidden.test(line)) return Either.left(new LivePlaylistInvalid({ reason: "it has a control character" }))
  if (line.startsWith("#EXT-X-DATERANGE:") && line.includes("X-ASSET-LIST"))
    return Either.left(new LivePlaylistInvalid({ reason: "lists of interstitials are not supported" }))
  if (!line.startsWith("#"))
    return Either.map(parseReference(line), (name) => ({ line: name, file: Option.some(name) }))
  if (line.startsWith("#EXT-X-KEY:") && !/^#EXT-X-KEY:METHOD=NONE\s*$/.test(line))
    return Either.left(new LivePlaylistInvalid({ reason: "encrypted segments are not supported" }))
  const [found, second] = line.startsWith("#EXT") ? line.matchAll(uriAttribute) : []
  if (second !== undefined) return Either.left(new LivePlaylistInvalid({ reason: "a tag has two addresses" }))
  const address = found?.[1]
  if (address === undefined) return Either.right({ line, file: Option.none() })
  return Either.map(parseReference(address), (name) => ({
    line: line.replace(uriAttribute, () => `URI="${name}"`),
    file: Option.some(name)
  }))
}

const lineEnd = /\r?\n/

/** Validates an encoder's playlist. Every address must be a file name of the same stream. */
export const parseLivePlaylist = (bytes: Uint8Array): Either.Either<LivePlaylist, LivePlaylistInvalid> =>
  Either.gen(function* () {
    const text = yield* Either.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: () => new LivePlaylistInvalid({ reason: "it is not UTF-8" })
    })
    const lines = text.split(lineEnd)
    if (lines[0] !== "#EXTM3U")
      return yield* Either.left(new LivePlaylistInvalid({ reason: "it does not begin with #EXTM3U" }))
    const parsed = yield* Either.all(lines.map(parseLine))
    return {
      text: parsed.some(({ line }, index) => line !== lines[index]) ? parsed.map(({ line }) => line).join("\n") : text,
      files: [...new Set(parsed.flatMap(({ file }) => Option.toArray(file)))],
      isEnded: lines.includes("#EXT-X-ENDLIST")
    }
  })

/** Tags that precede a segment and apply to it. */
const segmentTags = /^#EXT(?:INF|-X-(?:BYTERANGE|DISCONTINUITY|PROGRAM-DATE-TIME|GAP|BITRATE|PART)\b)/

/** Removes the last segments that are not yet stored, since players would fail on them. Idempotent. */
export const withholdMissingTail = (text: string, stored: ReadonlySet<string>): string => {
  const lines = text.split(lineEnd)
  const isSegment = (line: string) => line !== "" && !line.startsWith("#")
  const lastStored = lines.findLastIndex((line) => isSegment(line) && stored.has(line))
  const firstMissing = lines.findIndex((line, index) => index > lastStored && isSegment(line) && !stored.has(line))
  if (firstMissing === -1) return text
  const tagsFrom = lines.slice(0, firstMissing).findLastIndex((line) => !segmentTags.test(line)) + 1
  const kept = lines.slice(0, tagsFrom)
  return `${kept.join("\n")}\n`
}

/** The last segment, and the number of available parts of the next segment. */
interface LivePosition {
  readonly lastSegment: number
  readonly parts: number
}

export interface ReloadTarget {
  readonly segment: number
  /** None: the complete segment. */
  readonly part: Option.Option<number>
}

const numberOf = (text: string, tag: string, fallback: number): number => {
  const digits = new RegExp(`^#EXT-X-${tag}:(\\d{1,15})\\s*$`, "m").exec(text)?.[1]
  return digits === undefined ? fallback : Number(digits)
}

/** Whether the encoder announces blocking reloads. */
const canBlockReload = (text: string): boolean => /^#EXT-X-SERVER-CONTROL:.*\bCAN-BLOCK-RELOAD=YES\b/m.test(text)

/** Seconds. */
export const findTargetDuration = (text: string): number => numberOf(text, "TARGETDURATION", 6)

export const findLivePosition = (text: string): LivePosition => {
  const lines = text.split(lineEnd)
  const isSegment = (line: string) => line !== "" && !line.startsWith("#")
  const segments = lines.filter(isSegment).length
  return {
    lastSegment: numberOf(text, "MEDIA-SEQUENCE", 0) + segments - 1,
    parts: lines.slice(lines.findLastIndex(isSegment) + 1).filter((line) => line.startsWith("#EXT-X-PART:")).length
  }
}

type ReloadDecision = "respond" | "wait" | "reject"

/** Decides on a blocking reload (RFC 8216bis, section 6.2.5.2). */
export const decideReload = (text: string, { part, segment }: ReloadTarget): ReloadDecision => {
  if (!canBlockReload(text) || /^#EXT-X-ENDLIST\s*$/m.test(text)) return "respond"
  const { lastSegment, parts } = findLivePosition(text)
  if (segment > lastSegment + 2) return "reject"
  if (segment <= lastSegment) return "respond"
  return Option.exists(part, (index) => segment === lastSegment + 1 && index < parts) ? "respond" : "wait"
}
