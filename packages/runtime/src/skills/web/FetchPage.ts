import { ToolFailed } from "@berth/domain/skills/Tool"
import { Effect, Either, Stream } from "effect"
import { admit, type Target, targetOf } from "./AddressGuard.ts"
import { type Internet, type PageResponse } from "./Internet.ts"
import { type PageText, textReader } from "./PageText.ts"

export interface Page extends PageText {
  /** Where it was found in the end. */
  readonly url: URL
}

/** Bytes of a page that are read. */
export const pageBytes = 5 * 1024 * 1024
const mostRedirects = 5
const redirects = new Set([301, 302, 303, 307, 308])

const refuse = (reason: string) => new ToolFailed({ reason })

type Kind = "html" | "text"

/** What is made of a content type; nothing of what is no text. */
const kindOf = (contentType: string | null): Kind | null => {
  const type = (contentType ?? "text/plain").split(";")[0]?.trim().toLowerCase() ?? ""
  if (type === "text/html" || type === "application/xhtml+xml") return "html"
  return type.startsWith("text/") || /^application\/(.+\+)?(json|xml|yaml|javascript)$/.test(type) ? "text" : null
}

const decoderOf = (contentType: string | null): InstanceType<typeof TextDecoder> => {
  const name = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8"
  return Either.getOrElse(
    Either.try(() => new TextDecoder(name)),
    () => new TextDecoder()
  )
}

/** Connects to what the address leads to now, if that may be read. Every redirect is an address to be judged anew. */
const open = (internet: Internet["Type"], target: Target) =>
  Effect.gen(function* () {
    const addresses = yield* internet.resolve(target.host)
    const admitted = yield* Either.mapLeft(admit(addresses, yield* internet.ownAddresses), refuse)
    return yield* internet.get(target.url, admitted)
  })

/** As plain text, up to `limit` characters; whatever comes after that is not even received. */
const read = (response: PageResponse, kind: Kind, limit: number) => {
  const decoder = decoderOf(response.header("content-type"))
  const html = textReader(limit)
  let plain = ""
  let bytes = 0
  const take = (piece: Uint8Array): boolean => {
    bytes += piece.length
    const text = decoder.decode(piece.subarray(0, Math.max(0, piece.length - Math.max(0, bytes - pageBytes))), {
      stream: true
    })
    if (kind === "html") return html.write(text) && bytes < pageBytes
    plain += text
    return plain.length < limit && bytes < pageBytes
  }
  return response.body.pipe(
    Stream.rechunk(1),
    Stream.takeWhile(take),
    Stream.runDrain,
    Effect.map((): PageText => (kind === "html" ? html.end() : { title: "", text: plain.slice(0, limit) }))
  )
}

/** Reads the text of a public page, at most `limit` characters of it. */
export const fetchPage = (
  internet: Internet["Type"],
  address: string,
  limit: number
): Effect.Effect<Page, ToolFailed> => {
  const follow = (target: Target, left: number): Effect.Effect<Page, ToolFailed> =>
    Effect.gen(function* () {
      const response = yield* open(internet, target)
      const location = response.header("location")
      if (redirects.has(response.status) && location !== null)
        return left === 0
          ? yield* refuse(`The page leads on more than ${mostRedirects} times.`)
          : yield* Either.mapLeft(targetOf(location, target.url), refuse)
      if (response.status < 200 || response.status >= 300)
        return yield* refuse(`The page answered with status ${response.status}.`)
      const kind = kindOf(response.header("content-type"))
      if (kind === null) return yield* refuse("That is not text but a file of another kind, which cannot be read.")
      const { text, title } = yield* read(response, kind, limit)
      return { url: target.url, text, title }
    }).pipe(
      Effect.scoped,
      Effect.catchTag("Unreachable", ({ reason }) => refuse(reason)),
      // The next one is asked for when this one is closed.
      Effect.flatMap((found) => ("host" in found ? follow(found, left - 1) : Effect.succeed(found)))
    )
  return Effect.flatMap(Either.mapLeft(targetOf(address), refuse), (target) => follow(target, mostRedirects))
}
