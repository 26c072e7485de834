import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { closesFence, type Fence, readFence, splitMarkdown } from "./MarkdownSplit.ts"

const headingPattern = /^ {0,3}(#{1,6})\s(.*)$/s

/** Text of a heading of at least a level; undefined for other lines. Its patterns are linear in the line. */
export const readHeading = (line: string, level = 1): string | undefined => {
  const [, marks = "", rest = ""] = headingPattern.exec(line) ?? []
  const text = rest.trim().replace(/(?:^|\s)#+$/, "")
  return marks.length < level || text === "" ? undefined : text.trimEnd()
}

/** Applies a change to the text outside of code blocks. */
export const mapProse = (markdown: string, change: (prose: string) => string): string => {
  const output: Array<string> = []
  let pending: Array<string> = []
  let open: Fence | undefined
  const flush = () => {
    if (pending.length > 0) output.push(change(pending.join("\n")))
    pending = []
  }
  for (const line of markdown.split("\n")) {
    const opened = open === undefined ? readFence(line) : undefined
    if (open === undefined && opened === undefined) pending.push(line)
    else {
      flush()
      output.push(line)
      if (opened !== undefined) open = opened
      else if (open !== undefined && closesFence(line, open)) open = undefined
    }
  }
  flush()
  return output.join("\n")
}

/** Applies a change to the text outside of inline code. */
export const mapInline = (line: string, change: (text: string) => string): string =>
  line
    .split(/(`[^`\n]+`)/)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join("")

const tableRow = /^ {0,3}\|.*\|\s*$/

/** Converts tables to code blocks. */
const fenceTables = (prose: string): string => {
  const output: Array<string> = []
  let isInTable = false
  for (const line of prose.split("\n")) {
    const isRow = tableRow.test(line)
    if (isRow !== isInTable) output.push("```")
    isInTable = isRow
    output.push(line)
  }
  return [...output, ...(isInTable ? ["```"] : [])].join("\n")
}

/** Splits a text, whose tables become code, and formats the parts without lengthening them. Omits blank parts. */
export const splitFormatted = (
  markdown: string,
  limit: number,
  format: (part: string) => string
): ReadonlyArray<OutgoingPart> =>
  splitMarkdown(mapProse(markdown, fenceTables), limit)
    .map(({ prefix, suffix, text }) => format(`${prefix}${text}${suffix}`))
    .filter((formatted) => formatted.trim() !== "")
    .map((formatted) => ({ formatted, plain: formatted }))
