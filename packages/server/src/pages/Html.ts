/** Text that is markup already. */
export interface Html {
  readonly html: string
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? character)

/** A template whose values are escaped, except those that are markup themselves. */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<string | Html>): Html => ({
  html: strings.reduce((text, part, index) => {
    const value = values[index - 1] ?? ""
    return `${text}${typeof value === "string" ? escaped(value) : value.html}${part}`
  })
})
