import { RuntimeErrors } from "@berth/api/runtime/RuntimeErrors"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { respondError } from "./RuntimeErrorResponses.ts"

const digest = (text: string) => createHash("sha256").update(text).digest()

/** Admits requests with the runtime token. Comparing digests is constant-time in content and length. */
export const requireToken = (token: Redacted.Redacted) => {
  const expected = digest(Redacted.value(token))
  return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }): HttpApp.Default<E, R> => {
      const presented = /^Bearer (.+)$/i.exec(headers["authorization"] ?? "")?.[1]
      return presented !== undefined && timingSafeEqual(digest(presented), expected)
        ? app
        : respondError(RuntimeErrors.tokenInvalid)
    })
}
