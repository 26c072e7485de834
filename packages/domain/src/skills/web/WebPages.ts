import { Context, Data, Duration, type Effect, type Scope, type Stream } from "effect"

export const maximumPageRedirects = 5
/** Maximum bytes after decompression; the rest of a page is not read. */
export const maximumPageBytes = 5 * 1024 * 1024
/** Time from the request to the end of the body, including redirects. */
export const pageTimeLimit = Duration.seconds(14)

/** The reason is a sentence. */
export class PageNotReadable extends Data.TaggedError("PageNotReadable")<{ readonly reason: string }> {}

export interface WebPage {
  /** Address after redirects. */
  readonly url: URL
  /** Always a text type. */
  readonly contentType: string
  /** Valid until the scope closes. */
  readonly body: Stream.Stream<Uint8Array, PageNotReadable>
}

/** Text pages on the public internet. */
export class WebPages extends Context.Tag("@berth/WebPages")<
  WebPages,
  {
    /** Checks the address of every redirect. */
    readonly open: (address: string) => Effect.Effect<WebPage, PageNotReadable, Scope.Scope>
  }
>() {}

/** Returns the parser of a content type; null for a type other than text. */
export const findTextKind = (contentType: string): "html" | "text" | null => {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? ""
  if (type === "text/html" || type === "application/xhtml+xml") return "html"
  return type.startsWith("text/") || /^application\/(.+\+)?(json|xml|yaml|javascript)$/.test(type) ? "text" : null
}
