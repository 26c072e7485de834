const known = new Set(["b", "strong", "i", "em", "u", "s", "code", "pre", "a", "blockquote"])
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' }

/** Parses Telegram's HTML as strictly as Telegram. Returns the visible text, or the fault. */
export const checkTelegramHtml = (html: string): { readonly visible: string } | { readonly problem: string } => {
  const open: Array<string> = []
  let visible = ""
  let at = 0
  while (at < html.length) {
    const char = html[at] ?? ""
    if (char === "<") {
      const [whole, slash, name = "", attributes = ""] = /^<(\/?)([a-z]+)((?:\s[^<>]*)?)>/.exec(html.slice(at)) ?? []
      if (whole === undefined) return { problem: `Unsupported start tag at byte offset ${at}` }
      if (!known.has(name)) return { problem: `Unsupported start tag "${name}" at byte offset ${at}` }
      if (slash === "/") {
        if (open.pop() !== name) return { problem: `Unmatched end tag at byte offset ${at}` }
      } else {
        const isAllowed =
          attributes === "" ||
          (name === "a" && /^ href="[^"<>]+"$/.test(attributes)) ||
          (name === "code" && /^ class="language-[^"<>\s]+"$/.test(attributes))
        if (!isAllowed) return { problem: `Unexpected attributes at byte offset ${at}` }
        if (open.includes(name)) return { problem: `Nested tag "${name}" at byte offset ${at}` }
        open.push(name)
      }
      at += whole.length
    } else if (char === "&") {
      const [whole, name = ""] = /^&([a-z]+);/.exec(html.slice(at)) ?? []
      const meant = entities[name]
      if (whole === undefined || meant === undefined) return { problem: `Unsupported entity at byte offset ${at}` }
      visible += meant
      at += whole.length
    } else if (char === ">") return { problem: `Unescaped ">" at byte offset ${at}` }
    else {
      visible += char
      at += 1
    }
  }
  return open.length > 0 ? { problem: `Can't find end tag corresponding to start tag ${open.at(-1)}` } : { visible }
}
