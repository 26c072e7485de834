import { Headers } from "@effect/platform"
import { Layer } from "effect"

/** Headers with secrets, in addition to those that the platform redacts. */
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

/** Removes the user name and query values of a URL, since mailed links contain tokens. */
export const withoutValues = (url: URL): URL => {
  const bare = new URL(url)
  const names = new Set(bare.searchParams.keys())
  bare.search = ""
  bare.username = ""
  bare.password = ""
  for (const name of names) bare.searchParams.append(name, redacted)
  return bare
}
