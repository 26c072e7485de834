import { AiAccess, HostNotAllowed } from "@berth/api/ai/AiErrorBodies"
import { InternalKeyRequired } from "@berth/api/http/InternalAuth"
import { Digests } from "@berth/domain/secrets/Digests"
import { HttpServerRequest } from "@effect/platform"
import { Context, Effect, Layer, Option } from "effect"
import { InternalKey, readBearerToken } from "../http/InternalAuthHttp.ts"

export class AiAccessPolicy extends Context.Tag("@berth/AiAccessPolicy")<
  AiAccessPolicy,
  {
    /** Whether the AI layer requires the internal key. */
    readonly isPrivate: boolean
    /** Allowed host names other than loopback, for callers without the key. */
    readonly hosts: ReadonlyArray<string>
  }
>() {}

const isLoopback = (hostname: string) =>
  hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname)

/** Other host names can indicate a DNS rebinding attack. */
export const isAllowedHost = (header: string | undefined, hosts: ReadonlyArray<string>): boolean => {
  if (header === undefined) return true
  const address = `http://${header}`
  if (!URL.canParse(address)) return false
  const { hostname } = new URL(address)
  return isLoopback(hostname) || hosts.some((host) => host.toLowerCase() === hostname || `[${host}]` === hostname)
}

/** Returns the reason to reject a request; none if it is allowed. */
export const makeModelAccessCheck = Effect.gen(function* () {
  const { hosts, isPrivate } = yield* AiAccessPolicy
  const key = yield* InternalKey
  const digests = yield* Digests
  return (request: HttpServerRequest.HttpServerRequest): Option.Option<InternalKeyRequired | HostNotAllowed> => {
    if (Option.exists(readBearerToken(request), (shown) => digests.equal(shown, key))) return Option.none()
    if (isPrivate) return Option.some(new InternalKeyRequired())
    return isAllowedHost(request.headers["host"], hosts) ? Option.none() : Option.some(new HostNotAllowed())
  }
})

export const layer = Layer.effect(
  AiAccess,
  Effect.map(makeModelAccessCheck, (check) =>
    AiAccess.of({
      internal: () =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          Option.match(check(request), { onNone: () => Effect.void, onSome: (refusal) => Effect.fail(refusal) })
        )
    })
  )
)
