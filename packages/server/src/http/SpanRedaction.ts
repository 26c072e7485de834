import { Headers, HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"

/** Headers with secrets, besides those that the platform redacts. */
const secretHeaders: ReadonlyArray<string | RegExp> = [
  "referer",
  "location",
  "refresh",
  "idempotency-key",
  "www-authenticate",
  "proxy-authorization",
  /token|secret|claim-code|signature|payment|password|api-key|turnstile/i
]

/** Redacts these headers in the spans of a listener. */
export const withRedactedHeaders = <A, E, R>(listener: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.locallyWith(listener, Headers.currentRedactedNames, (names) => [...names, ...secretHeaders])

const redacted = "REDACTED"

const withoutValues = (url: URL): URL => {
  const bare = new URL(url)
  const names = new Set(bare.searchParams.keys())
  bare.search = ""
  bare.username = ""
  bare.password = ""
  for (const name of names) bare.searchParams.append(name, redacted)
  return bare
}

/** Redacts the values of the query in the span: mailed links carry tokens. */
export const redactQuery = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void> =>
  isBare(request) ? Effect.void : redactQueryValues(request)

/** Most requests: no query, and no user name before the host. */
const isBare = ({ headers, url }: HttpServerRequest.HttpServerRequest) =>
  url.startsWith("/") && !/[?#@]/.test(url) && !headers["host"]?.includes("@")

const redactQueryValues = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void> =>
  Option.match(HttpServerRequest.toURL(request), {
    onNone: () => Effect.void,
    onSome: (url) => {
      const bare = withoutValues(url)
      return Effect.annotateCurrentSpan({
        "url.full": bare.href,
        ...(url.search === "" ? {} : { "url.query": bare.search.slice(1) })
      })
    }
  })
