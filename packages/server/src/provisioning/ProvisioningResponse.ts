import { claimCodeHeader, type ProvisioningBody, removedFields } from "@berth/api/provisioning/ProvisioningFields"
import {
  ChannelProvisioning,
  type ProvisionedChannelAgent,
  type ProvisioningFailure
} from "@berth/domain/provisioning/ChannelProvisioning"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { Caller } from "@berth/domain/sessions/Caller"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted, type Scope } from "effect"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import { makeWarningHeaders } from "../agents/ModelWarning.ts"
import { IdempotencyMiddleware } from "../http/IdempotencyMiddleware.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { addResponseHeaders, addRetryAfter, privately } from "../http/ResponseHeaders.ts"
import { WebSettings } from "../http/WebSettings.ts"

type Body = typeof ProvisioningBody.Type

/** Names the ignored fields. */
const makeRemovedFieldsWarning = (body: Body): Option.Option<string> => {
  const ignored = removedFields.filter((field) => body[field] !== undefined)
  return ignored.length === 0
    ? Option.none()
    : Option.some(`These fields are no longer accepted and were ignored: ${ignored.join(", ")}.`)
}

/** Fingerprint of the request without the removed fields. */
const fingerprint = ({ apiKey, platformAToken, platformBToken, platformCBotToken, ...plain }: Body) => {
  const secrets = [apiKey, platformAToken, platformBToken, platformCBotToken].map((secret) =>
    secret === undefined ? null : Redacted.value(secret)
  )
  return JSON.stringify([secrets, plain.platformAUserId, plain.aiProvider, plain.plan])
}

/** Answers a provisioning request on either listener, once per `Idempotency-Key` of a client address. */
export const makeProvisioningResponder = Effect.fnUntraced(function* (listener: "web" | "backend") {
  const provisioning = yield* ChannelProvisioning
  const idempotency = yield* IdempotencyMiddleware
  const digests = yield* Digests
  const { agentsDomain, appUrl } = yield* WebSettings

  return (
    body: Body,
    key: string | undefined,
    encode: (provisioned: ProvisionedChannelAgent & { readonly success: true; readonly url: string }) => unknown,
    // A program of the operator without a client has no network.
    { hasNetwork = true } = {}
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, ProvisioningFailure, Scope.Scope> =>
    Effect.gen(function* () {
      const caller = yield* Caller
      yield* addResponseHeaders(makeWarningHeaders(makeRemovedFieldsWarning(body)))
      const respond = Effect.gen(function* () {
        const provisioned = yield* provisioning
          .provision(body)
          .pipe(
            Effect.provideService(Caller, hasNetwork ? caller : { ...caller, address: Option.none() }),
            Effect.tapErrorTag("UnclaimedLimitReached", addRetryAfter)
          )
        const url = makeInstanceUrl(provisioned.subdomain, agentsDomain, appUrl)
        return HttpServerResponse.unsafeJson(encode({ ...provisioned, success: true, url }), {
          headers: {
            ...privately,
            ...Option.match(provisioned.claimCode, {
              onNone: () => ({}),
              onSome: (code) => ({ [claimCodeHeader]: Redacted.value(code) })
            })
          }
        })
      })
      if (key === undefined) return yield* respond
      const named = { principal: yield* currentAddressKey, route: `POST /api/provision ${listener}`, key }
      const requestHash = hashSecret(digests, Redacted.make(fingerprint(body)))
      return yield* idempotency.runOnce(named, requestHash, (store) => Effect.tap(respond, store))
    })
})
