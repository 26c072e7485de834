import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { respondError } from "./RuntimeErrorResponses.ts"

const digest = (text: string) => createHash("sha256").update(text).digest()

/** Lets requests through that show the cell's own token. Digests are compared, so neither content nor length shows in the time it takes. */
export const requireToken = (token: Redacted.Redacted) => {
  const expected = digest(Redacted.value(token))
  return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }): HttpApp.Default<E, R> => {
      const shown = /^Bearer (.+)$/i.exec(headers["authorization"] ?? "")?.[1]
      return shown !== undefined && timingSafeEqual(digest(shown), expected)
        ? app
        : respondError(401, "unauthorized", "This cell wants its own token.")
    })
}
