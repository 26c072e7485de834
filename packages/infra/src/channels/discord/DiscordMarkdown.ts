import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { mapInline, mapProse, readHeading, splitFormatted } from "../MarkdownProse.ts"

/** Maximum characters of a message's content. */
const maximumTextLength = 2_000

const formatLine = (line: string): string => {
  const heading = readHeading(line, 4)
  if (heading !== undefined) return `**${heading.replaceAll("**", "")}**`
  if (/^ {0,3}([-*_])(?: *\1){2,}\s*$/.test(line)) return ""
  // Images become links.
  return mapInline(line, (text) => text.replaceAll(/!\[([^\]\n]*)\]\((https?:\/\/[^)\s]+)[^)\n]*\)/g, "[$1]($2)"))
}

/**
 * Discord supports Markdown except small headings, rules, images and tables. Never lengthens the text, which has no
 * tables.
 */
const formatText = (markdown: string): string =>
  mapProse(markdown, (prose) => prose.split("\n").map(formatLine).join("\n"))

export const splitForDiscord = (markdown: string): ReadonlyArray<OutgoingPart> =>
  splitFormatted(markdown, maximumTextLength, formatText)
