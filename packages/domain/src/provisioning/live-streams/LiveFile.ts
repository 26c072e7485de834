import { Option, Schema } from "effect"

const contentTypes: Readonly<Record<string, string>> = {
  m3u8: "application/vnd.apple.mpegurl",
  ts: "video/mp2t",
  m4s: "video/iso.segment",
  mp4: "video/mp4",
  aac: "audio/aac",
  vtt: "text/vtt"
}
export const liveContentTypes: ReadonlyArray<string> = Object.values(contentTypes)

// Excludes slashes, percent signs and consecutive dots.
const grammar = /^[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\.(?:m3u8|ts|m4s|mp4|aac|vtt)$/
const maximumNameLength = 100

/** Name of a playlist or media file of a stream. */
export const LiveFileName = Schema.String.pipe(Schema.brand("LiveFileName"))
export type LiveFileName = typeof LiveFileName.Type

export const parseLiveFileName = (text: string): Option.Option<LiveFileName> =>
  text.length <= maximumNameLength && grammar.test(text) ? Option.some(LiveFileName.make(text)) : Option.none()

export const isPlaylistName = (name: LiveFileName): boolean => name.endsWith(".m3u8")

export const findLiveContentType = (name: LiveFileName): string =>
  contentTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream"
