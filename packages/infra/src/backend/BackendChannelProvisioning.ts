import { claimCodeHeader } from "@berth/api/provisioning/ProvisioningFields"
import type { IdempotencyErrors } from "@berth/api/limits/IdempotencyErrors"
import { RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { ChannelProvisioning, type ProvisioningFailure } from "@berth/domain/provisioning/ChannelProvisioning"
import { ProvisioningUnavailable } from "@berth/domain/provisioning/ProvisioningErrors"
import type { ProvisioningRequest } from "@berth/domain/provisioning/ProvisioningRequest"
import type { HttpClient } from "@effect/platform"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import {
  type BackendClientOptions,
  failTransport,
  isTransportFailure,
  makeBackendClient,
  type TransportFailure
} from "./BackendClient.ts"

const timeout = Duration.seconds(30)
const unavailable = new ProvisioningUnavailable()

type Failure = ProvisioningFailure | TransportFailure | typeof IdempotencyErrors.Type

const isOfKey = (error: ProvisioningFailure | typeof IdempotencyErrors.Type): error is typeof IdempotencyErrors.Type =>
  ["IdempotencyKeyReused", "IdempotencyKeyInvalid", "FirstRequestUnanswered", "ResponseNotKept"].includes(error._tag)

/** The web API has already checked the key, so its errors here mean that an earlier request is in progress. */
const toFailure = (error: Failure): Effect.Effect<never, ProvisioningFailure> => {
  if (isTransportFailure<ProvisioningFailure | typeof IdempotencyErrors.Type>(error))
    return failTransport(error, unavailable)
  return Effect.fail(isOfKey(error) ? unavailable : error)
}

/** Provisioning by the backend process. */
export const layer = (options: BackendClientOptions): Layer.Layer<ChannelProvisioning, never, HttpClient.HttpClient> =>
  Layer.effect(
    ChannelProvisioning,
    Effect.map(makeBackendClient(options), ({ api }) =>
      ChannelProvisioning.of({
        provision: Effect.fn("ChannelProvisioning.provision")(function* (request: ProvisioningRequest) {
          const { aiProvider, apiKey, plan, platformAToken, platformAUserId, platformBToken, platformCBotToken } =
            request
          // The backend stores the outcome under the same key, since this process may die before it receives the
          // response.
          const claim = yield* RequestClaim
          const [provisioned, { headers }] = yield* api.provisioning
            .provision({
              payload: {
                aiProvider,
                apiKey,
                plan,
                platformAToken,
                platformAUserId,
                platformBToken,
                platformCBotToken
              },
              headers: Option.match(claim, {
                onNone: () => ({}),
                onSome: ({ key }) => ({ "idempotency-key": key.key })
              }),
              withResponse: true
            })
            .pipe(
              Effect.catchAll(toFailure),
              Effect.interruptible,
              Effect.timeoutFail({ duration: timeout, onTimeout: () => unavailable })
            )
          return {
            ...provisioned,
            claimCode: Option.map(Option.fromNullable(headers[claimCodeHeader]), (code) => Redacted.make(code))
          }
        })
      })
    )
  )
