import { Button } from "@mantine/core"
import { type ComponentProps, memo, type ReactNode, useState } from "react"
import ReactMarkdown, { type Components, defaultUrlTransform } from "react-markdown"
import remarkGfm from "remark-gfm"
import { findShown } from "../blocks.ts"
import { formatNumber } from "../format.ts"
import { Copy, ExternalLink } from "../parts.tsx"
import { texts } from "../texts.ts"
import { CanHighlight, HighlightedCode } from "./HighlightedCode.tsx"

const textOf = (node: ReactNode): string =>
  typeof node === "string" ? node : Array.isArray(node) ? node.map((child: ReactNode) => textOf(child)).join("") : ""

const hostOf = (address: string) => (URL.canParse(address) ? new URL(address).host : "")

/** Opens in a new tab; without a safe address the link is text. */
const MarkdownLink = ({ children, href }: ComponentProps<"a">) =>
  href === undefined || href === "" ? <span>{children}</span> : <ExternalLink href={href}>{children}</ExternalLink>

/** A remote image would reveal the reader to its host, so it is opened only on request. */
const MarkdownImage = ({ alt, src }: ComponentProps<"img">) => {
  const host = typeof src === "string" ? hostOf(src) : ""
  return (
    <span className="remote-image">
      {alt === undefined || alt === "" ? texts.chat.image : alt}
      {host !== "" && <ExternalLink href={String(src)}>{texts.chat.openImage(host)}</ExternalLink>}
    </span>
  )
}

const MarkdownTable = ({ children }: ComponentProps<"table">) => (
  <div className="table" tabIndex={0} role="region" aria-label={texts.chat.table}>
    <table>{children}</table>
  </div>
)

const languageOf = (className: string | undefined) => /language-(\S+)/.exec(className ?? "")?.[1]

const MarkdownCode = ({ children, className }: ComponentProps<"code">) => {
  const code = textOf(children)
  const language = languageOf(className)
  if (language === undefined && !code.includes("\n")) return <code>{children}</code>
  return (
    <div className="code">
      <div className="code-head">
        <span>{language ?? texts.chat.code}</span>
        <Copy value={code} label={texts.chat.copyCode} />
      </div>
      <pre tabIndex={0}>
        {language === undefined ? <code>{children}</code> : <HighlightedCode code={code} language={language} />}
      </pre>
    </div>
  )
}

/** The messages are sections of the page, and the headings of an answer are below them. */
const headingOf =
  (depth: string) =>
  ({ children }: ComponentProps<"h3">) => <h3 className={depth}>{children}</h3>

const components: Components = {
  h1: headingOf("h1"),
  h2: headingOf("h2"),
  h3: headingOf("h3"),
  h4: headingOf("h3"),
  h5: headingOf("h3"),
  h6: headingOf("h3"),
  input: ({ checked, type }) => (
    <input
      type={type}
      checked={checked}
      disabled
      aria-label={checked === true ? texts.chat.taskDone : texts.chat.taskOpen}
    />
  ),
  a: ({ children, href }) => <MarkdownLink href={href}>{children}</MarkdownLink>,
  img: ({ alt, src }) => <MarkdownImage alt={alt} src={src} />,
  table: ({ children }) => <MarkdownTable>{children}</MarkdownTable>,
  pre: ({ children }) => <>{children}</>,
  code: ({ children, className }) => <MarkdownCode className={className}>{children}</MarkdownCode>
}

const plugins = [remarkGfm]

/** One block of Markdown. Raw HTML is shown as text; links with unknown protocols are removed. */
const Block = memo(({ children }: { readonly children: string }) => (
  <div className="markdown">
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={defaultUrlTransform}>
      {children}
    </ReactMarkdown>
  </div>
))

/** Characters rendered initially. */
const usualCharacters = 24_000

/** Shows the end of a text that grew in this window, else its beginning. The rest is rendered on request. */
export const Markdown = ({
  blocks,
  isGrowing
}: {
  readonly blocks: ReadonlyArray<string>
  readonly isGrowing: boolean
}) => {
  const [grewHere] = useState(isGrowing)
  const [limit, setLimit] = useState(usualCharacters)
  const [first, last] = findShown(blocks, limit, grewHere)
  const rest = [...blocks.slice(0, first), ...blocks.slice(last)].reduce((sum, block) => sum + block.length, 0)
  const showRest = rest > 0 && (
    <Button variant="default" size="xs" my="sm" onClick={() => setLimit(limit + 2 * usualCharacters)}>
      {texts.chat.showRest(formatNumber(Math.ceil(rest / 1000)))}
    </Button>
  )
  return (
    <CanHighlight value={!isGrowing}>
      {grewHere && showRest}
      {blocks.slice(first, last).map((block, index) => (
        <Block key={first + index}>{block}</Block>
      ))}
      {!grewHere && showRest}
    </CanHighlight>
  )
}
