import { InternalAuth, InternalKeyRequired } from "@berth/api/http/InternalAuth"
import { Digests } from "@berth/domain/secrets/Digests"
import { HttpServerRequest } from "@effect/platform"
import { Context, Effect, Layer, Option, Redacted } from "effect"

/** Shared secret of the service's processes. */
export class InternalKey extends Context.Tag("@berth/InternalKey")<InternalKey, Redacted.Redacted>() {}

/**
 * Returns the token of a request's `Authorization: Bearer <token>`; none for other schemes. A malformed token is
 * returned too, so that it fails like an unknown one.
 */
export const readBearerToken = (request: HttpServerRequest.HttpServerRequest) =>
  Option.fromNullable(/^Bearer(?: +(.*))?$/i.exec(request.headers["authorization"] ?? "")).pipe(
    Option.map(([, token = ""]) => Redacted.make(token))
  )

export const currentBearerToken = Effect.map(HttpServerRequest.HttpServerRequest, readBearerToken)

export const layer = Layer.effect(
  InternalAuth,
  Effect.gen(function* () {
    const key = yield* InternalKey
    const digests = yield* Digests
    return InternalAuth.of({
      internal: () =>
        Effect.flatMap(currentBearerToken, (token) =>
          Option.exists(token, (shown) => digests.equal(shown, key)) ? Effect.void : new InternalKeyRequired()
        )
    })
  })
)
