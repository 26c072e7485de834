import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { Effect, Either, Stream } from "effect"
import { admitAddresses, type WebTarget, parseWebTarget } from "./WebAddressPolicy.ts"
import { type Internet, type WebPageResponse } from "./Internet.ts"
import { type PageText, makeTextReader } from "./PageText.ts"

export interface WebPage extends PageText {
  /** Address after redirects. */
  readonly url: URL
}

export const maximumPageBytes = 5 * 1024 * 1024
const maximumRedirects = 5
const redirects = new Set([301, 302, 303, 307, 308])

const toToolFailed = (reason: string) => new ToolFailed({ reason })

type Kind = "html" | "text"

/** How a content type is read; none when it is no text. */
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

/** Checks the address at every redirect. */
const open = (internet: Internet["Type"], target: WebTarget) =>
  Effect.gen(function* () {
    const addresses = yield* internet.resolve(target.host)
    const admitted = yield* Either.mapLeft(admitAddresses(addresses, yield* internet.ownAddresses), toToolFailed)
    return yield* internet.get(target.url, admitted)
  })

/** Returns at most `limit` characters and stops receiving then. */
const read = (response: WebPageResponse, kind: Kind, limit: number) => {
  const decoder = decoderOf(response.header("content-type"))
  const html = makeTextReader(limit)
  let plain = ""
  let bytes = 0
  const take = (piece: Uint8Array): boolean => {
    bytes += piece.length
    const text = decoder.decode(piece.subarray(0, Math.max(0, piece.length - Math.max(0, bytes - maximumPageBytes))), {
      stream: true
    })
    if (kind === "html") return html.write(text) && bytes < maximumPageBytes
    plain += text
    return plain.length < limit && bytes < maximumPageBytes
  }
  return response.body.pipe(
    Stream.rechunk(1),
    Stream.takeWhile(take),
    Stream.runDrain,
    Effect.map((): PageText => (kind === "html" ? html.end() : { title: "", text: plain.slice(0, limit) }))
  )
}

/** Returns the text of a public page, at most `limit` characters. */
export const fetchPage = (
  internet: Internet["Type"],
  address: string,
  limit: number
): Effect.Effect<WebPage, ToolFailed> => {
  const follow = (target: WebTarget, left: number): Effect.Effect<WebPage, ToolFailed> =>
    Effect.gen(function* () {
      const response = yield* open(internet, target)
      const location = response.header("location")
      if (redirects.has(response.status) && location !== null)
        return left === 0
          ? yield* toToolFailed(`The page leads on more than ${maximumRedirects} times.`)
          : yield* Either.mapLeft(parseWebTarget(location, target.url), toToolFailed)
      if (response.status < 200 || response.status >= 300)
        return yield* toToolFailed(`The page answered with status ${response.status}.`)
      const kind = kindOf(response.header("content-type"))
      if (kind === null)
        return yield* toToolFailed("That is not text but a file of another kind, which cannot be read.")
      const { text, title } = yield* read(response, kind, limit)
      return { url: target.url, text, title }
    }).pipe(
      Effect.scoped,
      Effect.catchTag("HostUnreachable", ({ reason }) => toToolFailed(reason)),
      // Closes this response before the next request.
      Effect.flatMap((found) => ("host" in found ? follow(found, left - 1) : Effect.succeed(found)))
    )
  return Effect.flatMap(Either.mapLeft(parseWebTarget(address), toToolFailed), (target) =>
    follow(target, maximumRedirects)
  )
}
