import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { fenceTables, mapInline, mapProse } from "../MarkdownProse.ts"
import { splitMarkdown } from "../MarkdownSplit.ts"

/** Maximum characters of a message's content. */
export const longestDiscordText = 2_000

const formatLine = (line: string): string => {
  const [, heading] = /^ {0,3}#{4,6}\s+(.*?)\s*#*$/.exec(line) ?? []
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
  splitMarkdown(mapProse(markdown, fenceTables), longestDiscordText)
    .map(({ prefix, suffix, text }) => formatText(`${prefix}${text}${suffix}`))
    .filter((formatted) => formatted.trim() !== "")
    .map((formatted) => ({ formatted, plain: formatted }))
