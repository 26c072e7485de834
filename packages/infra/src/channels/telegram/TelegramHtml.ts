import { readHeading } from "../MarkdownProse.ts"
import { closesFence, readFence } from "../MarkdownSplit.ts"

/** Telegram's HTML: https://core.telegram.org/bots/api#html-style */
const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** Maximum entities; Telegram ignores further ones, which would format only part of a text. */
const maximumEntities = 100

type Style = "b" | "i" | "s"

/**
 * Code, links and emphasis, the longest marker first. Emphasis is adjacent to letters or punctuation, never to spaces.
 */
const inline =
  /(`+)(?!`)([^\n]*?[^`\n])\1(?!`)|\[([^\][\n]{1,500})\]\((https?:\/\/[^\s()<>"]{1,1000})\)|(\*\*|__)(?=\S)([^\n]*?\S)\5|(~~)(?=\S)([^\n]*?\S)\7|(?<![\w*])(\*)(?=[^\s*])([^\n*]*?[^\s*])\9(?![\w*])|(?<![\w_])(_)(?=[^\s_])([^\n_]*?[^\s_])\11(?![\w_])/g

const translateInline = (text: string, used: ReadonlySet<Style>): string => {
  let html = ""
  let end = 0
  const styled = (style: Style, inner: string, whole: string) =>
    used.has(style) ? escapeHtml(whole) : `<${style}>${translateInline(inner, new Set([...used, style]))}</${style}>`
  for (const match of text.matchAll(inline)) {
    const [whole, , code, label, url, , bold, , struck, , starred, , underscored] = match
    html += escapeHtml(text.slice(end, match.index))
    end = match.index + whole.length
    if (code !== undefined) html += `<code>${escapeHtml(code)}</code>`
    else if (label !== undefined && url !== undefined) html += `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`
    else if (bold !== undefined) html += styled("b", bold, whole)
    else if (struck !== undefined) html += styled("s", struck, whole)
    else html += styled("i", starred ?? underscored ?? "", whole)
  }
  return html + escapeHtml(text.slice(end))
}

const none: ReadonlySet<Style> = new Set()

const translateLine = (line: string): string => {
  const heading = readHeading(line)
  if (heading !== undefined) return `<b>${translateInline(heading, new Set<Style>(["b"]))}</b>`
  const [, indent, item] = /^(\s*)[-*+] +(.*)$/.exec(line) ?? []
  return indent !== undefined && item !== undefined
    ? `${indent}• ${translateInline(item, none)}`
    : translateInline(line, none)
}

const codeBlock = (lines: ReadonlyArray<string>, language: string): string => {
  const code = escapeHtml(lines.join("\n"))
  return /^[\w+#.-]+$/.test(language)
    ? `<pre><code class="language-${escapeHtml(language)}">${code}</code></pre>`
    : `<pre>${code}</pre>`
}

/** Whether the text is invisible. */
const isBlank = (html: string): boolean => html.replaceAll(/<[^>]*>/g, "").trim() === ""

/** Translates Markdown to Telegram's HTML. Never lengthens the visible text; escapes unknown markup. */
export const translateMarkdown = (markdown: string): string => {
  const html: Array<string> = []
  const lines = markdown.split("\n")
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ""
    const fence = readFence(line)
    if (fence === undefined) {
      html.push(translateLine(line))
      continue
    }
    const length = lines.slice(at + 1).findIndex((later) => closesFence(later, fence))
    const code = lines.slice(at + 1, length === -1 ? undefined : at + 1 + length)
    html.push(code.join("").trim() === "" ? escapeHtml(code.join("\n")) : codeBlock(code, fence.language))
    at += code.length + (length === -1 ? 0 : 1)
  }
  const text = html.join("\n")
  return (text.match(/<[bisa]|<pre|<code/g) ?? []).length > maximumEntities || isBlank(text)
    ? escapeHtml(markdown)
    : text
}
