import { actingUserHeader, clientAddressHeader } from "@berth/api/http/ActingUserHeaders"
import { Digests } from "@berth/domain/secrets/Digests"
import { type CallerContext, makeCaller } from "@berth/domain/sessions/Caller"
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { isIP } from "node:net"
import { readClientAddress } from "./ClientAddress.ts"
import { InternalKey, readBearerToken } from "./InternalAuthHttp.ts"
import { WebSettings } from "./WebSettings.ts"
import { UserId } from "@berth/domain/shared/UserId"

type Request = HttpServerRequest.HttpServerRequest

export type ResolveCaller = (request: Request, requestId: string) => CallerContext

/** Public listener: the client's address and user agent. */
export const makeClientCallerResolver: Effect.Effect<ResolveCaller, never, WebSettings> = Effect.map(
  WebSettings,
  ({ trustedProxies }): ResolveCaller =>
    (request, requestId) =>
      makeCaller({
        address: Option.some(readClientAddress(request, trustedProxies)),
        requestId: Option.some(requestId),
        userAgent: Option.fromNullable(request.headers["user-agent"])
      })
)

const idPattern = /^[\w-]{1,128}$/

/** Private listener: the acting user and client of a process with the internal key; other callers by their address. */
export const makeInternalCallerResolver: Effect.Effect<ResolveCaller, never, WebSettings | InternalKey | Digests> =
  Effect.gen(function* () {
    const { trustedProxies } = yield* WebSettings
    const key = yield* InternalKey
    const digests = yield* Digests
    return (request, id) => {
      const requestId = Option.some(id)
      const direct = Option.some(readClientAddress(request, trustedProxies))
      if (!Option.exists(readBearerToken(request), (token) => digests.equal(token, key)))
        return makeCaller({ address: direct, requestId })
      const validHeader = (name: string, isValid: (text: string) => boolean) =>
        Option.filter(Option.fromNullable(request.headers[name]), isValid)
      return makeCaller({
        address: Option.orElse(
          validHeader(clientAddressHeader, (text) => isIP(text) !== 0),
          () => direct
        ),
        requestId,
        user: Option.map(
          validHeader(actingUserHeader, (text) => idPattern.test(text)),
          (id) => UserId.make(id)
        )
      })
    }
  })
