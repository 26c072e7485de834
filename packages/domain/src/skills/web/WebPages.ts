import { Context, Data, Duration, type Effect, type Scope, type Stream } from "effect"

export const maximumPageRedirects = 5
/** Decompressed; the rest of a longer page is not read. */
export const maximumPageBytes = 5 * 1024 * 1024
/** From the request to the end of the body, redirects included. */
export const pageTimeLimit = Duration.seconds(14)

/** The reason is a sentence. */
export class PageNotReadable extends Data.TaggedError("PageNotReadable")<{ readonly reason: string }> {}

export interface WebPage {
  /** Address after redirects. */
  readonly url: URL
  /** Of a text. */
  readonly contentType: string
  /** Ends with the scope. */
  readonly body: Stream.Stream<Uint8Array, PageNotReadable>
}

/** Texts on the public internet. */
export class WebPages extends Context.Tag("@berth/WebPages")<
  WebPages,
  {
    /** Checks the address at every redirect. */
    readonly open: (address: string) => Effect.Effect<WebPage, PageNotReadable, Scope.Scope>
  }
>() {}

/** How a content type is read; null when it is no text. */
export const findTextKind = (contentType: string): "html" | "text" | null => {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? ""
  if (type === "text/html" || type === "application/xhtml+xml") return "html"
  return type.startsWith("text/") || /^application\/(.+\+)?(json|xml|yaml|javascript)$/.test(type) ? "text" : null
}
