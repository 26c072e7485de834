/** Markup that may go out as it stands. Only the template below makes it, so that text cannot become markup by accident. */
export class Html {
  readonly markup: string
  private constructor(markup: string) {
    this.markup = markup
  }
  /** What a page's author wrote, with every value in it escaped. */
  static readonly fromTemplate = (strings: ReadonlyArray<string>, values: ReadonlyArray<Content>): Html =>
    new Html(strings.map((string, index) => (index === 0 ? "" : markupOf(values[index - 1])) + string).join(""))
}

/** What a template takes: markup as it is, text and numbers escaped, nothing for what is absent. */
export type Content = Html | string | number | null | undefined | false | ReadonlyArray<Content>

const replacements: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Text as it stands in an element, or in an attribute's quotes. */
export const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => replacements[character] ?? "")

const markupOf = (content: Content): string => {
  if (content === null || content === undefined || content === false) return ""
  if (content instanceof Html) return content.markup
  if (typeof content === "string") return escapeText(content)
  if (typeof content === "number") return String(content)
  return content.map(markupOf).join("")
}

/**
 * A piece of a page. Values stand in elements or in quoted attributes and can be any text there; no value stands in a script, a
 * style or an unquoted attribute, and an address from outside goes through `callbackPath` first.
 */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<Content>): Html =>
  Html.fromTemplate(strings, values)
