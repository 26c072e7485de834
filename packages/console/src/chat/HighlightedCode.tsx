import { createContext, type ReactNode, useContext, useEffect, useState } from "react"
import type { highlight } from "./highlight.ts"

type Tokens = NonNullable<ReturnType<typeof highlight>>

/** False in an answer in progress, to avoid highlighting it again with each delta. */
export const CanHighlight = createContext(true)

/** Longer code stays plain. */
const longestCode = 20_000

const render = (tokens: Tokens): ReadonlyArray<ReactNode> =>
  tokens.map((token, index) => {
    if (token.type === "text") return token.value
    if (token.type !== "element") return null
    const names = token.properties["className"]
    return (
      <span key={index} className={Array.isArray(names) ? names.join(" ") : undefined}>
        {render(token.children)}
      </span>
    )
  })

/** Highlighted code once the chunk is loaded; plain text before, and for unknown languages. */
export const HighlightedCode = ({ code, language }: { readonly code: string; readonly language: string }) => {
  const isWanted = useContext(CanHighlight) && code.length <= longestCode
  const [tokens, setTokens] = useState<Tokens>()
  useEffect(() => {
    if (!isWanted) return undefined
    let isShown = true
    import("./highlight.ts").then(
      // Each code block is a separate task, so that many of them do not block the page.
      ({ highlight }) => setTimeout(() => isShown && setTokens(highlight(language, code))),
      // A file of an earlier release may be missing: the code stays plain.
      () => undefined
    )
    return () => {
      isShown = false
    }
  }, [code, isWanted, language])
  return <code>{tokens === undefined ? code : render(tokens)}</code>
}
