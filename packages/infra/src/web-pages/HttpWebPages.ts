import { parsePageAddress } from "@berth/domain/skills/web/PageAddress"
import {
  findTextKind,
  maximumPageBytes,
  maximumPageRedirects,
  PageNotReadable,
  pageTimeLimit,
  type WebPage,
  WebPages
} from "@berth/domain/skills/web/WebPages"
import { NodeStream } from "@effect/platform-node"
import { Effect, Either, ExecutionStrategy, Exit, Fiber, Layer, Match, Scope, Stream } from "effect"
import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { OutboundClient } from "../net/OutboundClient.ts"

const redirects = new Set([301, 302, 303, 307, 308])

const headers = {
  accept: "text/html, text/plain;q=0.9, */*;q=0.1",
  "accept-encoding": "identity",
  "accept-language": "en, *;q=0.5",
  "user-agent": "Mozilla/5.0 (compatible; Berth agent)"
}

const notReadable = (reason: string) => new PageNotReadable({ reason })

const toNotReadable = Match.typeTags<Effect.Effect.Error<ReturnType<OutboundClient["Type"]["open"]>>>()({
  AddressNotAllowed: () => notReadable("The host is not on the public internet, so it cannot be read."),
  OutboundRequestFailed: ({ reason }) =>
    notReadable(
      reason === "ENOTFOUND" || reason === "ENODATA"
        ? "There is no host of that name."
        : "The host could not be reached."
    )
})

const codings: Readonly<Record<string, (() => NodeJS.ReadWriteStream & Readable) | undefined>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress
}

/** Decompresses, since some sites ignore the requested encoding. */
const decompress = (response: IncomingMessage): Readable => {
  const unpack = codings[(response.headers["content-encoding"] ?? "").trim().toLowerCase()]
  if (unpack === undefined) return response
  const plain = unpack()
  response.on("error", (cause) => plain.destroy(cause))
  return response.pipe(plain)
}

const limitBytes = <E, R>(body: Stream.Stream<Uint8Array, E, R>) =>
  body.pipe(
    Stream.mapAccum(maximumPageBytes, (left, chunk) => [
      left - chunk.length,
      { chunk: chunk.subarray(0, left), isLast: chunk.length >= left }
    ]),
    Stream.takeUntil(({ isLast }) => isLast),
    Stream.map(({ chunk }) => chunk)
  )

const readBody = (response: IncomingMessage) =>
  limitBytes(
    NodeStream.fromReadable<PageNotReadable, Uint8Array>(
      () => decompress(response),
      () => notReadable("The page broke off in the middle.")
    )
  )

export const layer = Layer.effect(
  WebPages,
  Effect.map(OutboundClient, ({ open }) => {
    const follow = Effect.fnUntraced(function* (
      url: URL,
      left: number
    ): Effect.fn.Return<WebPage, PageNotReadable, Scope.Scope> {
      const scope = yield* Effect.flatMap(Effect.scope, (parent) => Scope.fork(parent, ExecutionStrategy.sequential))
      const response = yield* open({ method: "GET", url, headers }).pipe(
        Effect.mapError(toNotReadable),
        Scope.extend(scope)
      )
      const { "content-type": contentType = "text/plain", location } = response.headers
      const status = response.statusCode ?? 0
      if (redirects.has(status) && location !== undefined) {
        if (left === 0) return yield* notReadable(`The page redirects more than ${maximumPageRedirects} times.`)
        yield* Scope.close(scope, Exit.void)
        return yield* follow(yield* Either.mapLeft(parsePageAddress(location, url), notReadable), left - 1)
      }
      if (status < 200 || status >= 300) return yield* notReadable(`The page answered with status ${status}.`)
      if (findTextKind(contentType) === null)
        return yield* notReadable("That is not text but a file of another kind, which cannot be read.")
      return { url, contentType, body: readBody(response) }
    })

    return WebPages.of({
      open: Effect.fn("WebPages.open")(function* (address) {
        const url = yield* Either.mapLeft(parsePageAddress(address), notReadable)
        const timeout = yield* Effect.forkScoped(
          Effect.delay(notReadable("The page did not end in time."), pageTimeLimit)
        )
        const page = yield* Effect.raceFirst(follow(url, maximumPageRedirects), Fiber.join(timeout))
        return { ...page, body: Stream.interruptWhen(page.body, Fiber.join(timeout)) }
      })
    })
  })
)
