import { Parser } from "htmlparser2"

/** Elements without text. */
const ignoredElements = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "select",
  "title"
])

const blockElements = new Set(
  (
    "address article aside blockquote body br button caption dd details dialog div dl dt fieldset figcaption figure footer form " +
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol option p pre section summary table tbody tfoot thead tr ul"
  ).split(" ")
)

/** Elements separated by an empty line. */
const paragraphElements = new Set("article blockquote h1 h2 h3 h4 h5 h6 ol p pre section table ul".split(" "))

const step = 4096

/** Maximum nesting depth, since the parser searches all open elements at every end tag. */
const maximumDepth = 500

export interface PageText {
  readonly title: string
  readonly text: string
}

interface TextReader {
  /** False after enough was read. */
  readonly write: (html: string) => boolean
  readonly end: () => PageText
}

/** Extracts a page's text incrementally, up to `limit` characters. */
export const makeTextReader = (limit: number): TextReader => {
  let text = ""
  let title = ""
  let inTitle = false
  let ignoredDepth = 0
  let depth = 0
  // Separator before the next word.
  let gap: "" | " " | "\n" | "\n\n" = ""

  const separate = (by: " " | "\n" | "\n\n") => {
    if (by.length > gap.length || (by !== " " && gap === " ")) gap = by
  }
  const append = (words: string) => {
    if (words === "") return
    text += (text === "" ? "" : gap) + words
    gap = ""
  }

  const parser = new Parser(
    {
      onopentag: (name) => {
        if (name === "title") inTitle = title === ""
        if (ignoredElements.has(name)) ignoredDepth += 1
        depth += 1
        if (ignoredDepth > 0) return
        if (blockElements.has(name)) separate(paragraphElements.has(name) ? "\n\n" : "\n")
        if (name === "td" || name === "th") separate(" ")
        if (name === "li") {
          append("-")
          separate(" ")
        }
      },
      ontext: (content) => {
        if (inTitle) title = (title + content).slice(0, 500)
        if (ignoredDepth > 0 || text.length >= limit) return
        const words = content.replaceAll(/\s+/g, " ")
        if (words.startsWith(" ")) separate(" ")
        append(words.trim())
        if (words.endsWith(" ") && words !== " ") separate(" ")
      },
      onclosetag: (name) => {
        if (name === "title") inTitle = false
        if (ignoredElements.has(name)) ignoredDepth = Math.max(0, ignoredDepth - 1)
        depth -= 1
        if (ignoredDepth === 0 && blockElements.has(name)) separate(paragraphElements.has(name) ? "\n\n" : "\n")
      }
    },
    { decodeEntities: true, lowerCaseTags: true }
  )
  const needsMore = () => text.length < limit && depth <= maximumDepth
  return {
    write: (html) => {
      // Small steps keep the parser interruptible.
      for (let at = 0; at < html.length && needsMore(); at += step) parser.write(html.slice(at, at + step))
      return needsMore()
    },
    end: () => {
      parser.end()
      return { title: title.replaceAll(/\s+/g, " ").trim(), text: text.slice(0, limit) }
    }
  }
}
