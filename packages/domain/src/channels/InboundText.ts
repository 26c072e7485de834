import type { MessagingPlatform } from "../shared/Channel.ts"
import type { FileKind, InboundContent, InboundFile } from "./ChannelMessage.ts"

const names: Record<FileKind, string> = {
  photo: "photo",
  document: "document",
  voice: "voice message",
  audio: "audio file",
  video: "video",
  sticker: "sticker",
  other: "attachment"
}

const formatBytes = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} kB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`

/** Describes a file that the model does not receive, in one line. */
const describeFile = ({ bytes, kind, mediaType, name, seconds }: InboundFile): string => {
  const facts = [
    name,
    mediaType,
    seconds === null ? null : `${Math.round(seconds)} s`,
    bytes === null ? null : formatBytes(bytes)
  ].filter((fact) => fact !== null && fact !== "")
  return `[${[names[kind], ...facts].join(", ")}; its content is not available here]`
}

const maximumRecordings = 3
const maximumTranscriptLength = 8_000

/** Returns the files with speech. Telegram marks recordings; its audio files are music. */
export const listRecordings = (
  platform: MessagingPlatform,
  { files }: Pick<InboundContent, "files">
): ReadonlyArray<InboundFile> =>
  files
    .filter(({ kind }) => kind === "voice" || (kind === "audio" && platform !== "platformA"))
    .slice(0, maximumRecordings)

const formatTranscript = ({ kind }: InboundFile, text: string): string =>
  `[${names[kind]}, transcribed] ${text.length > maximumTranscriptLength ? `${text.slice(0, maximumTranscriptLength)} […]` : text}`

/** Formats the message for the model: the sender's name in groups, the text, and one line per file. */
export const formatForModel = (
  { files, isGroup, senderName, text }: Pick<InboundContent, "files" | "isGroup" | "senderName" | "text">,
  transcripts: ReadonlyMap<InboundFile["id"], string> = new Map()
): string => {
  const describe = (file: InboundFile) => {
    const transcript = transcripts.get(file.id)
    return transcript === undefined ? describeFile(file) : formatTranscript(file, transcript)
  }
  const lines = [...(text.trim() === "" ? [] : [text.trim()]), ...files.map(describe)]
  return `${isGroup ? `${senderName}: ` : ""}${lines.join("\n")}`
}
