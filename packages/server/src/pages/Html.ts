/** Safe markup. Created only by the template below, so that text never becomes markup. */
export class Html {
  readonly markup: string
  private constructor(markup: string) {
    this.markup = markup
  }
  /** Escapes every value of the template. */
  static readonly fromTemplate = (strings: ReadonlyArray<string>, values: ReadonlyArray<Content>): Html =>
    new Html(strings.map((string, index) => (index === 0 ? "" : markupOf(values[index - 1])) + string).join(""))
}

/** A template value: markup, escaped text or number, or nothing. */
export type Content = Html | string | number | null | undefined | false | ReadonlyArray<Content>

const replacements: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Escapes text for elements and quoted attributes. */
const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => replacements[character] ?? "")

const markupOf = (content: Content): string => {
  if (content === null || content === undefined || content === false) return ""
  if (content instanceof Html) return content.markup
  if (typeof content === "string") return escapeText(content)
  if (typeof content === "number") return String(content)
  return content.map(markupOf).join("")
}

/**
 * Values are allowed in elements or quoted attributes, never in scripts, styles or unquoted attributes. External URLs
 * must pass `resolveCallbackPath` first.
 */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<Content>): Html =>
  Html.fromTemplate(strings, values)
