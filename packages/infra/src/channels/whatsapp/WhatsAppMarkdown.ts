import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { mapInline, mapProse, readHeading, splitFormatted } from "../MarkdownProse.ts"

/** Maximum characters of a text message. */
const maximumTextLength = 4_096

// Marks bold text until single asterisks have become italics.
const boldMark = "\u0001"

const formatInline = (text: string): string =>
  text
    .replaceAll(/!?\[([^\]\n]*)\]\(<?(https?:\/\/[^)\s>]+)>?(?:\s+"[^"\n]*")?\)/g, (_, label: string, url: string) =>
      label === "" || label === url ? url : `${label} (${url})`
    )
    .replaceAll(/\*{3}(?=\S)([^*\n]+?)(?<=\S)\*{3}/g, `${boldMark}_$1_${boldMark}`)
    .replaceAll(/(\*\*|__)(?=\S)([^\n]+?)(?<=\S)\1/g, `${boldMark}$2${boldMark}`)
    .replaceAll(/(?<![*\w])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![*\w])/g, "_$1_")
    .replaceAll(/~~(?=\S)([^\n]+?)(?<=\S)~~/g, "~$1~")
    .replaceAll(boldMark, "*")

const formatLine = (line: string): string => {
  const heading = readHeading(line)
  if (heading !== undefined) return `*${mapInline(heading, formatInline).replaceAll(/[*_]/g, "")}*`
  if (/^ {0,3}([-*_])(?: *\1){2,}\s*$/.test(line)) return ""
  return mapInline(line.replace(/^(\s*)[*+]\s+/, "$1- "), formatInline)
}

/** Replaces Markdown's marks with those of WhatsApp. Never lengthens the text, which has no tables. */
const formatText = (markdown: string): string =>
  mapProse(markdown, (prose) => prose.split("\n").map(formatLine).join("\n"))
    // WhatsApp would display the language of a code block as code.
    .replaceAll(/^ {0,3}(?:`{3,}|~{3,})[\w+#.-]{0,32}\s*$/gm, "```")

export const splitForWhatsApp = (markdown: string): ReadonlyArray<OutgoingPart> =>
  splitFormatted(markdown, maximumTextLength, formatText)
