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

/** One line about a file that the model does not receive. */
export const describeFile = ({ bytes, kind, mediaType, name, seconds }: InboundFile): string => {
  const facts = [
    name,
    mediaType,
    seconds === null ? null : `${Math.round(seconds)} s`,
    bytes === null ? null : formatBytes(bytes)
  ].filter((fact) => fact !== null && fact !== "")
  return `[${[names[kind], ...facts].join(", ")}; its content is not available here]`
}

/** The message for the model: the sender's name in groups, the text, and a line for every file. */
export const formatForModel = ({
  files,
  isGroup,
  senderName,
  text
}: Pick<InboundContent, "files" | "isGroup" | "senderName" | "text">): string => {
  const lines = [...(text.trim() === "" ? [] : [text.trim()]), ...files.map(describeFile)]
  return `${isGroup ? `${senderName}: ` : ""}${lines.join("\n")}`
}
